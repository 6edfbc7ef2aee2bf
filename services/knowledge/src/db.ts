import type { BusTables } from '@guildhall/bus/tables'
import type { AuditEvent } from '@guildhall/contracts/event'
import type { OwnSettings } from '@guildhall/contracts/knowledge'
import type { Db as AnyDb, Trx as AnyTrx } from '@guildhall/db/open'
import type { Generated, JSONColumnType } from 'kysely'

/** The folder of the migrations that make these tables. */
export const migrations = new URL('../migrations', import.meta.url).pathname

/** Who wrote a version, as its audit line will say. */
export type Writer = Pick<AuditEvent, 'source' | 'actor_kind' | 'actor_id'>

/** What a source is called and who sees it; its content apart. */
export interface Labels {
  category: string
  title: string
  url: string
  public: boolean
}

/** The tables of `migrations/`. */
export interface Tables extends BusTables {
  sources: Labels & {
    id: string
    org_id: number
    key: string
    current_version_id: string | null
    index_stale: Generated<boolean>
    next_stale: Generated<boolean>
    updated_at: Date
  }
  versions: Labels & {
    id: string
    source_id: string
    state: 'indexing' | 'current'
    content_hash: string
    embedding_model: string | null
    own_vectors: Generated<boolean>
    chunk_count: number
    text_chars: number
    fetched_at: Date
    written_by: JSONColumnType<Writer>
  }
  chunks: {
    id: string
    version_id: string
    ordinal: number
    level: number
    parent_ordinal: number | null
    place: number | null
    content: string
    repeated: Generated<number>
    embedding: Buffer | null
  }
  settings: { org_id: number; own: JSONColumnType<OwnSettings> }
  runs: {
    id: string
    org_id: number
    source_key: string
    kind: 'crawl' | 'upload'
    started_at: Date
    duration_ms: number
    changed: boolean
    chunks: number
    error: string | null
  }
  search_index: {
    one: Generated<boolean>
    engine: 'embedded' | 'servers'
    current: string
    next: string | null
    old: string | null
    switched_at: Date | null
  }
  crawls: {
    source_id: string
    title: string | null
    fetch_every_hours: number
    enabled: boolean
    due_at: Date
    last_attempt_at: Date | null
    last_error: string | null
    failures: Generated<number>
    page_hash: string | null
    page_chars: number | null
    fetched_url: string | null
    etag: string | null
    last_modified: string | null
    lease_id: string | null
    leased_until: Date | null
    retired: Generated<boolean>
  }
  crawl_hosts: { host: string; holder: string; free_at: Date }
  pack_results: {
    id: string
    org_id: number
    pack: string
    source_key: string
    category: string
    title: string
    url: string
    text: string
    created_at: Date
  }
  removed_versions: { version_id: string; source_id: string; org_id: number }
}

export type Db = AnyDb<Tables>
export type Trx = AnyTrx<Tables>
