import { once } from 'node:events'
import { PROGRAMS } from '@guildhall/sandbox/testing'
import { startStack } from '@guildhall/scripts/stack'

/** A whole stack as a child of a test that looks at its memory: told its settings first, it ends with the test. */
process.on('disconnect', () => process.exit(0))
const [{ home, env }] = await once(process, 'message')
const { url } = await startStack({ home, env, programs: PROGRAMS })
process.send?.(url)
