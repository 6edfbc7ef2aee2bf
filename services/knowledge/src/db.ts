import type { BusTables } from '@guildhall/bus/tables'
import type { Db as AnyDb, Trx as AnyTrx } from '@guildhall/db/open'
import type { Generated, Selectable } from 'kysely'

/** The folder of the migrations that make these tables. */
export const migrations = new URL('../migrations', import.meta.url).pathname

/** The tables of `migrations/`. */
export interface Tables extends BusTables {
  sources: {
    id: string
    org_id: number
    key: string
    category: string
    title: string
    url: string
    public: boolean
    current_version_id: string | null
    created_at: Generated<Date>
    updated_at: Generated<Date>
  }
  versions: {
    id: string
    source_id: string
    content_hash: string
    embedding_model: string | null
    chunk_count: number
    text_chars: number
    fetched_at: Generated<Date>
    indexed: Generated<boolean>
  }
  chunks: {
    id: string
    version_id: string
    ordinal: number
    level: number
    parent_ordinal: number | null
    content: string
    embedding: Buffer | null
  }
  index_removals: { version_id: string; org_id: number; created_at: Generated<Date> }
}

export type Db = AnyDb<Tables>
export type Trx = AnyTrx<Tables>
export type SourceRow = Selectable<Tables['sources']>
export type VersionRow = Selectable<Tables['versions']>
