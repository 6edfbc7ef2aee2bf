import { hash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ErrorEvent } from '@guildhall/contracts/event'
import type { Peer, Service } from '@guildhall/contracts/names'
import { migrateUp } from '@guildhall/db/migrate'
import { openDb } from '@guildhall/db/open'
import { provision, roleUrl } from '@guildhall/db/provision'
import { testDatabase } from '@guildhall/db/testing'
import { createLog, type Log } from '@guildhall/service/log'
import { cleanUp, until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { connectBus } from './connect.ts'
import { consume } from './consume.ts'
import { findNatsServer, startNats } from './embedded.ts'
import { ensureStreams } from './streams.ts'
import { type BusTables, busMigrations } from './tables.ts'
import { type NatsUser, natsUsers } from './users.ts'

export const TEST_INTERNAL_KEY = '11'.repeat(32)
const home = new URL('../../../.guildhall', import.meta.url).pathname
export const quietLog = createLog('test', { format: 'json', level: 'fatal' })

/** The nats-server that tests run; unpacked once for the checkout where the machine has none. */
export const findTestNats = () => findNatsServer({ home, log: quietLog, env: process.env })

/** The environment of a stack in a test: nothing of this process but the way to nats-server. */
export const testEnvironment = async () => ({
  PATH: process.env.PATH,
  NATS_SERVER_BIN: await findTestNats(),
})

/** A broker of the test's own, with the users and walls of production (and `more`) and without streams. */
export async function testBroker(t: Pick<TestContext, 'after'>, more: NatsUser[] = []) {
  const dir = await mkdtemp(join(tmpdir(), 'guildhall-test-nats-'))
  const bin = await findTestNats()
  const nats = await startNats({
    bin,
    dir,
    config: { users: [...natsUsers(TEST_INTERNAL_KEY), ...more] },
    log: quietLog,
  })
  cleanUp(t, async () => {
    await nats.stop()
    await rm(dir, { recursive: true, force: true })
  })
  return nats
}

/** The bus of a broker in a test, as one peer, closed after it. */
export async function busAs(
  t: Pick<TestContext, 'after'>,
  { url, peer, log = quietLog }: { url: string; peer: Peer; log?: Log },
) {
  const bus = await connectBus({ peer, url, internalKey: TEST_INTERNAL_KEY, log })
  cleanUp(t, async () => bus[Symbol.asyncDispose]())
  return bus
}

/** The first error event of a peer, once there is one; taken as ops does, which must not run. */
export async function firstErrorOf(
  t: Pick<TestContext, 'after'>,
  { url, peer }: { url: string; peer: Peer },
) {
  const ops = await busAs(t, { url, peer: 'ops' })
  const taken: ErrorEvent[] = []
  const ending = new AbortController()
  const consumption = {
    ...({ stream: 'ERRORS', durable: 'ops-errors', subject: 'errors.*', concurrency: 1 } as const),
    handle: async (message: { json(): unknown }) => {
      taken.push(ErrorEvent.parse(message.json()))
    },
  }
  const running = consume(ops, consumption, ending.signal)
  cleanUp(t, () => {
    ending.abort()
    return running
  })
  return until(() => taken.find(({ service }) => service === peer))
}

/** A schema with the tables of the bus alone, in a database of the test's own. */
export async function testOutbox(t: Pick<TestContext, 'after'>) {
  const url = await testDatabase(t)
  const owner = openDb<BusTables>({ url, schema: 'ops', log: quietLog })
  cleanUp(t, () => owner.destroy())
  await sql`create schema ops`.execute(owner)
  await migrateUp({ url, schema: 'ops', folders: [busMigrations] })
  return owner
}

/** The owner's URL of a database with the schemas of services, by the folders of their migrations. */
export function migratedDatabase(
  t: Pick<TestContext, 'after'>,
  migrations: Readonly<Partial<Record<Service, string>>>,
): Promise<string> {
  const parts = Object.entries(migrations)
  return testDatabase(t, {
    name: `template_${hash('sha256', Object.keys(migrations).join(' ')).slice(0, 16)}`,
    async prepare(owner) {
      for (const [schema, folder] of parts) {
        await provision(owner, schema, TEST_INTERNAL_KEY)
        const url = roleUrl(owner, schema, TEST_INTERNAL_KEY)
        await migrateUp({ url, schema, folders: [busMigrations, folder] })
      }
    },
  })
}

/** The schema of a service in a database of the test's own, without the service. */
export async function schemaOf<T extends BusTables>(
  t: Pick<TestContext, 'after'>,
  service: Service,
  migrations: string,
) {
  const owner = await migratedDatabase(t, { [service]: migrations })
  const url = roleUrl(owner, service, TEST_INTERNAL_KEY)
  const db = openDb<T>({ url, schema: service, log: quietLog })
  cleanUp(t, () => db.destroy())
  return db
}

/**
 * What a service needs to start in a test: its own database, which its migrations have made, a broker with
 * streams, and free ports.
 */
export async function testSettings(
  t: Pick<TestContext, 'after'>,
  migrations: Readonly<Partial<Record<Service, string>>>,
) {
  const [DATABASE_URL, { url: NATS_URL }] = await Promise.all([
    migratedDatabase(t, migrations),
    testBroker(t),
  ])
  const ops = await connectBus({
    peer: 'ops',
    url: NATS_URL,
    internalKey: TEST_INTERNAL_KEY,
    log: quietLog,
  })
  await ensureStreams(ops.jsm)
  await ops[Symbol.asyncDispose]()
  return {
    DATABASE_URL,
    NATS_URL,
    INTERNAL_KEY: TEST_INTERNAL_KEY,
    LOG_LEVEL: 'error',
    LOG_FORMAT: 'json',
    AUTH_PORT: '0',
    KNOWLEDGE_PORT: '0',
    OPS_PORT: '0',
    COMPUTE_PORT: '0',
    AGENTS_PORT: '0',
    MCP_PORT: '0',
    STORE_PORT: '0',
    CALENDAR_PORT: '0',
    ALERTS_PORT: '0',
    BOT_PORT: '0',
  }
}
