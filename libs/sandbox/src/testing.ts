import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createLog } from '@guildhall/service/log'
import { cleanUp } from '@guildhall/service/testing'
import { demoWorld } from './demo.ts'
import { startSandbox } from './sandbox.ts'

export const REDIRECT_URI = 'http://127.0.0.1:1/api/auth/callback'
export const quietLog = createLog('sandbox', { format: 'json', level: 'fatal' })

/** OpenSSH is unpacked once for the checkout where the machine has none. */
export const PROGRAMS = fileURLToPath(new URL('../../../.guildhall', import.meta.url))

/** A sandbox of its own with the demo world, and a clock that the test may turn. */
export async function testSandbox(t: Pick<TestContext, 'after'>) {
  const clock = { ahead: 0 }
  const sandbox = await startSandbox({
    world: demoWorld(),
    redirectUris: [REDIRECT_URI],
    gatewayUrl: 'http://gateway.test',
    log: quietLog,
    programs: PROGRAMS,
    env: process.env,
    now: () => new Date(Date.now() + clock.ahead),
  })
  cleanUp(t, () => sandbox.stop())
  return { ...sandbox, clock }
}

const BESIDE_THE_REPOSITORY = new URL('../../../../shared/openapi', import.meta.url)
const OPENAPI_DIR = process.env.OPENAPI_DIR || fileURLToPath(BESIDE_THE_REPOSITORY)

/** An official OpenAPI description, or nothing where it is not on this machine (a user's clone has none). */
export async function officialDescription(name: string): Promise<unknown> {
  const file = join(OPENAPI_DIR, name)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text && JSON.parse(text)
}
