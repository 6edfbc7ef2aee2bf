import { PROGRAMS } from '@guildhall/sandbox/testing'
import { startStack } from '@guildhall/scripts/stack'

/** The whole stack as a child of the bench: tells its settings, and warms the demo model when asked. */
const home = process.argv[2] ?? ''
const stack = await startStack({ home, env: process.env, programs: PROGRAMS })
const { url, settings } = stack
process.on('message', async (asked) => {
  if (asked === 'warm') await stack.sandbox?.warm()
  if (asked === 'stop') {
    await stack[Symbol.asyncDispose]()
    process.exit(0)
  }
  process.send?.(asked)
})
process.send?.({ url, settings })
