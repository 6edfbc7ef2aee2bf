import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { busMigrations } from '@guildhall/bus/tables'
import { startPostgres } from '@guildhall/db/embedded'
import { migrateUp } from '@guildhall/db/migrate'
import { provision, roleUrl } from '@guildhall/db/provision'
import { migrations } from '@guildhall/knowledge/db'
import { createLog } from '@guildhall/service/log'
import type { Place } from './knowledge-deps.ts'

/** Runs work on a Postgres as `npm start` runs it, with knowledge's schema, and a folder for the index; both are removed after it. */
export async function withHome(work: (place: Place) => Promise<void>) {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-bench-'))
  await chmod(home, 0o755) // Postgres runs as another user where we are root
  const log = createLog('bench', { format: 'json', level: 'error' })
  const postgres = await startPostgres({ dir: join(home, 'postgres'), password: randomUUID(), log })
  try {
    await work({ url: await schema(postgres.url), dir: join(home, 'index') })
  } finally {
    await postgres.stop()
    await rm(home, { recursive: true, force: true })
  }
}

async function schema(ownerUrl: string) {
  const key = '0'.repeat(64)
  await provision(ownerUrl, 'knowledge', key)
  const url = roleUrl(ownerUrl, 'knowledge', key)
  await migrateUp({ url, schema: 'knowledge', folders: [busMigrations, migrations] })
  return url
}
