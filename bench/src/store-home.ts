import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectBus } from '@guildhall/bus/connect'
import { findNatsServer, startNats } from '@guildhall/bus/embedded'
import { ensureStreams } from '@guildhall/bus/streams'
import { natsUsers } from '@guildhall/bus/users'
import { startPostgres } from '@guildhall/db/embedded'
import { createLog } from '@guildhall/service/log'
import { child, end } from './children.ts'

const KEY = '0'.repeat(64)

export interface Place {
  /** Where the store answers. */
  url: string
  /** Postgres, as its owner. */
  database: string
  key: string
}

/** Runs work on the store in a process of its own, over Postgres and NATS as `npm start` runs them; all is removed after it. */
export async function withStore(work: (place: Place) => Promise<void>) {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-bench-'))
  await chmod(home, 0o755) // Postgres runs as another user where we are root
  const log = createLog('bench', { format: 'json', level: 'error' })
  const postgres = await startPostgres({ dir: join(home, 'postgres'), password: randomUUID(), log })
  const bin = await findNatsServer({ home, log, env: process.env })
  const users = natsUsers(KEY)
  const nats = await startNats({ bin, dir: join(home, 'nats'), config: { users }, log })
  try {
    const ops = await connectBus({ peer: 'ops', url: nats.url, internalKey: KEY, log })
    await ensureStreams(ops.jsm)
    await ops[Symbol.asyncDispose]()
    const settings = { INTERNAL_KEY: KEY, DATABASE_URL: postgres.url, NATS_URL: nats.url }
    const env = { ...process.env, ...settings, STORE_PORT: '0', LOG_LEVEL: 'error' }
    const store = await child<string>('./store-process.ts', [], env)
    await work({ url: store.said, database: postgres.url, key: KEY })
    await end(store.process)
  } finally {
    await nats.stop()
    await postgres.stop()
    await rm(home, { recursive: true, force: true })
  }
}
