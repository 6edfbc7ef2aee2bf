import { openDb } from '@guildhall/db/open'
import { createEmbedders } from '@guildhall/knowledge/clients/embedders'
import { readConfig } from '@guildhall/knowledge/config'
import type { Tables } from '@guildhall/knowledge/db'
import type { Deps } from '@guildhall/knowledge/deps'
import { createExtractor } from '@guildhall/knowledge/documents/worker'
import { createIndexer } from '@guildhall/knowledge/indexing/indexer'
import { engineOf } from '@guildhall/knowledge/search/engine'
import { openGenerations } from '@guildhall/knowledge/search/generations'
import { createLegs } from '@guildhall/knowledge/search/legs'
import { createLog } from '@guildhall/service/log'
import { PUBLISHER } from './knowledge-data.ts'

export interface Place {
  /** Knowledge's own URL of the database. */
  url: string
  /** The folder of the index. */
  dir: string
}

/** Knowledge without its gateway and broker: its own code on a real database and a real index. */
export async function openKnowledge(
  { url, dir }: Place,
  more: Record<string, string> = {},
): Promise<Deps & AsyncDisposable> {
  const log = createLog('bench', { format: 'json', level: 'error' })
  const db = openDb<Tables>({ url, schema: 'knowledge', log })
  const config = readConfig({
    DATABASE_URL: url,
    NATS_URL: 'nats://127.0.0.1',
    INTERNAL_KEY: '0'.repeat(64),
    KNOWLEDGE_INDEX_DIR: dir,
    ...more,
  })
  const legs = createLegs(log)
  const secretsOf = async () => ({})
  const embedderOf = createEmbedders({ config, secretsOf, guard: {}, log, leg: legs.embedder })
  const index = await openGenerations({ db, engine: engineOf(config, log), log })
  return {
    db,
    log,
    config,
    index,
    indexer: createIndexer({ db, index, log, alone: (_source, work) => work() }),
    publishers: async () => [PUBLISHER],
    legs,
    embedderOf,
    searchEmbedderOf: embedderOf,
    extractor: createExtractor(),
    secretsOf,
    packs: [],
    guard: {},
    now: () => new Date(),
    async [Symbol.asyncDispose]() {
      await index.close()
      await db.destroy()
    },
  }
}
