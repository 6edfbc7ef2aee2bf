import { sql } from 'kysely'
import type { Db } from '../db.ts'

export interface Candidate {
  id: string
  version_id: string
  ordinal: number
  level: number
  parent_ordinal: number | null
  content: string
  source_key: string
  title: string
  url: string
  category: string
  public: boolean
  fetched_at: Date
}

/** The rows of these ids that the org may see now: of current versions, its own or public. */
export async function candidates(
  db: Db,
  ids: readonly string[],
  org: number,
  category: string | undefined,
): Promise<Candidate[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<Candidate>`
    select chunks.id, chunks.version_id, ordinal, level, parent_ordinal, content,
      key as source_key, title, url, category, public, fetched_at
    from chunks
    join versions on versions.id = chunks.version_id
    join sources on sources.current_version_id = versions.id
    where chunks.id = any(${ids}::uuid[]) and (org_id = ${org} or public)
      and (${category ?? null}::text is null or category = ${category ?? null})`.execute(db)
  return rows
}

export interface Neighbour {
  /** The candidate whose neighbour it is. */
  of: string
  ordinal: number
  content: string
}

/** For each of these page-text rows, itself and up to `window` page-text rows on each side, in order. */
export async function neighbours(
  db: Db,
  ids: readonly string[],
  window: number,
): Promise<Neighbour[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<Neighbour>`
    select hit.id as of, near.ordinal, near.content
    from chunks as hit
    cross join lateral (
      (select ordinal, content from chunks where version_id = hit.version_id and level = 0
        and ordinal < hit.ordinal order by ordinal desc limit ${window})
      union all
      (select ordinal, content from chunks where version_id = hit.version_id and level = 0
        and ordinal >= hit.ordinal order by ordinal limit ${window + 1})
    ) as near
    where hit.id = any(${ids}::uuid[]) and hit.level = 0
    order by hit.id, near.ordinal`.execute(db)
  return rows
}
