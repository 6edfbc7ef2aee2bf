import type { Bus } from '@guildhall/bus/connect'
import type { Log } from '@guildhall/service/log'
import type { Embedder } from './clients/embedder.ts'
import type { Config } from './config.ts'
import type { Db } from './db.ts'
import type { Extractor } from './documents/worker.ts'
import type { PassageIndex } from './search/index.ts'

/** All that knowledge needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  config: Config
  index: PassageIndex
  /** Nothing where no embeddings service is configured: then search goes by words alone. */
  embedder: Embedder | undefined
  extractor: Extractor
}
