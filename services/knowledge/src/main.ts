import { openService } from '@guildhall/bus/open-service'
import { holdLock } from '@guildhall/db/lock'
import { type Running, runProcess } from '@guildhall/service/run'
import { buildApp } from './app.ts'
import { createEmbedder } from './clients/embedder.ts'
import { type Config, readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import type { Deps } from './deps.ts'
import { createExtractor } from './documents/worker.ts'
import { finishIndexing, jobHandlers } from './jobs.ts'
import { openEmbedded } from './search/embedded.ts'

/** Starts knowledge: sources, uploads and search, on the embedded index. */
export async function start(config: Config): Promise<Running> {
  const { KNOWLEDGE_PORT: PORT, KNOWLEDGE_DATABASE_URL: OWN_DATABASE_URL } = config
  const opened = await openService<Tables>(
    'knowledge',
    { ...config, PORT, OWN_DATABASE_URL },
    migrations,
  )
  const { db, bus, log, signal } = opened
  const lock = await holdLock({
    url: opened.databaseUrl,
    name: 'knowledge-embedded-index',
    why: 'another process writes the embedded index; knowledge may run once, or with MEILI_URL and QDRANT_URL',
    log,
  })
  const index = await openEmbedded({ dir: config.KNOWLEDGE_INDEX_DIR, log })
  const extractor = createExtractor()
  const deps: Deps = { db, bus, log, config, index, embedder: createEmbedder(config), extractor }
  if (index.created) await db.updateTable('versions').set({ indexed: false }).execute() // the index was lost or is new
  const repair = repairAll(deps, signal)
  const serving = await opened.serve(buildApp(opened, deps), jobHandlers(deps), [repair])
  async function close() {
    await serving[Symbol.asyncDispose]()
    await extractor.close()
    await index.close()
    await lock[Symbol.asyncDispose]()
  }
  return { url: serving.url, [Symbol.asyncDispose]: close }
}

/** At the start nothing is in hand yet, so whatever is unfinished can be finished at once. */
async function repairAll(deps: Deps, signal: AbortSignal) {
  try {
    while (!signal.aborted && (await finishIndexing(deps, { signal }, 0)).indexed > 0);
  } catch (error) {
    deps.log.warn({ err: error }, 'Indexing could not be finished yet; the job goes on')
  }
}

if (import.meta.main) await runProcess('knowledge', () => start(readConfig()))
