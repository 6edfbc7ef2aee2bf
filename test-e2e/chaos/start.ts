import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testEnvironment } from '@guildhall/bus/testing'
import { PROGRAMS } from '@guildhall/sandbox/testing'
import { type Processes, startProcesses } from '@guildhall/scripts/compose/run'

/** No limit stands in the way of the load. */
const UNLIMITED = Object.fromEntries(
  ['CREDENTIAL', 'MACHINE', 'SEARCH', 'CONNECT', 'ADDRESS'].map((what) => [
    `RATE_${what}_PER_MINUTE`,
    '0',
  ]),
)

/** The processes of docker-compose.yml with their own Postgres and NATS, in a folder that goes with them. */
export async function startForChaos(): Promise<Processes> {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-test-chaos-'))
  await using opening = new AsyncDisposableStack()
  opening.defer(() => rm(home, { recursive: true, force: true }))
  const env = { ...(await testEnvironment()), ...UNLIMITED, LOG_LEVEL: 'fatal' }
  const processes = opening.use(await startProcesses({ home, env, programs: PROGRAMS }))
  const all = opening.move()
  return { ...processes, [Symbol.asyncDispose]: () => all.disposeAsync() }
}
