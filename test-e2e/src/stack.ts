import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { migratedDatabase, TEST_INTERNAL_KEY, testEnvironment } from '@guildhall/bus/testing'
import type { MachineToken, Scope } from '@guildhall/contracts/tokens'
import { readConfig as readGateway } from '@guildhall/gateway/config'
import { start as startGateway } from '@guildhall/gateway/main'
import { PROGRAMS } from '@guildhall/sandbox/testing'
import { parts } from '@guildhall/scripts/services'
import { startStack } from '@guildhall/scripts/stack'
import type { Env } from '@guildhall/service/config'
import { cleanUp, until } from '@guildhall/service/testing'
import { clientOf, machineTokenOf, orgIdOf, signIn } from './people.ts'

/** The folder of each service's migrations. */
export const migrations = Object.fromEntries(
  Object.entries(parts).map(([service, part]) => [service, part.migrations]),
)

export type TestStack = Awaited<ReturnType<typeof testStack>>

/** A whole stack in a folder of its own: every service and the gateway. `now` is the clock of auth. */
export async function testStack(t: Pick<TestContext, 'after'>, env: Env = {}, now?: () => Date) {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-test-e2e-'))
  cleanUp(t, () => rm(home, { recursive: true, force: true }))
  const DATABASE_URL = await migratedDatabase(t, migrations)
  const base = { PORT: '0', LOG_LEVEL: 'fatal', DATABASE_URL, INTERNAL_KEY: TEST_INTERNAL_KEY }
  const settings = { ...(await testEnvironment()), ...base, ...env }
  const stack = await startStack({ home, env: settings, programs: PROGRAMS, ...(now && { now }) })
  cleanUp(t, () => stack[Symbol.asyncDispose]())
  const { url, sandbox } = stack
  if (!sandbox) throw new Error('A test stack has the sandbox')
  return { ...stack, home, sandbox, ...callersAt(url) }
}

/** Another gateway of a stack, with settings of its own; people come back from their sign-in through the first. */
export async function gatewayOf(
  t: Pick<TestContext, 'after'>,
  { settings }: Pick<TestStack, 'settings'>,
  env: Env,
) {
  const gateway = await startGateway(
    readGateway({ ...settings, PORT: '0', ADMIN_PORT: '0', ...env }),
  )
  cleanUp(t, () => gateway[Symbol.asyncDispose]())
  await until(async () => (await fetch(`${gateway.url}/ready`)).ok)
  return { url: gateway.url, ...callersAt(gateway.url) }
}

const callersAt = (url: string) => ({
  as: (token?: string) => clientOf(url, token),
  signIn: (person: { id: string }) => signIn(url, person),
  orgId: (token: string, prefix?: string) => orgIdOf(clientOf(url, token), prefix),
  machineToken: (
    officerToken: string,
    scopes: Scope[],
    prefix?: string,
    kind?: MachineToken['kind'],
  ) => machineTokenOf(clientOf(url, officerToken), scopes, prefix, kind),
})
