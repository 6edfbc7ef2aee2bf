import type { Log } from '@guildhall/service/log'
import type { Embedders } from './clients/embedders.ts'
import type { OrgSecrets } from './clients/org-secrets.ts'
import type { Config } from './config.ts'
import type { Bounds } from './crawls/fetch.ts'
import type { Db } from './db.ts'
import type { Extractor } from './documents/worker.ts'
import type { Indexer } from './indexing/indexer.ts'
import type { LoadedPack } from './packs/loaded.ts'
import type { Generations } from './search/generations.ts'
import type { Legs } from './search/legs.ts'
import type { Publishers } from './search/publishers.ts'

/** All that knowledge needs from outside. */
export interface Deps {
  db: Db
  log: Log
  config: Config
  /** Searched here; written by the indexer alone. */
  index: Generations
  indexer: Indexer
  /** What a search can do without, and whether it works. */
  legs: Legs
  /** Whose public sources others may see. */
  publishers: Publishers
  /** The embedder that an org has at this moment, if any. */
  embedderOf: Embedders
  /** The same for searches: while auth does not answer, the one that it named last. */
  searchEmbedderOf: Embedders
  extractor: Extractor
  /** What an org set of its own keys and addresses. */
  secretsOf: (orgId: number) => Promise<OrgSecrets>
  packs: readonly LoadedPack[]
  /** What fetching a URL of an officer, a page or a pack is held to. */
  guard: Bounds
  now: () => Date
}
