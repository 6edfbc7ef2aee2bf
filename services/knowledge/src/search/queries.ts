import { sql } from 'kysely'
import type { Db } from '../db.ts'
import type { Scope } from './index.ts'
import type { Span } from './spans.ts'

/** A passage that may be shown: of a current version, and the org's own or a publisher's public one. */
export interface Passage {
  id: string
  version_id: string
  ordinal: number
  level: number
  parent_ordinal: number | null
  /** Its number among the page text of its version; null for summaries. */
  place: number | null
  content: string
  fetched_at: Date
  key: string
  title: string
  url: string
  category: string
  public: boolean
}

/**
 * Those of the index's hits that are still what the database holds and the org may see, in no order. The passages are read
 * first and by their ids: left to itself, Postgres starts from the sources of the org and reads every passage of theirs.
 */
export function visiblePassages(
  db: Db,
  { org, publishers, category }: Omit<Scope, 'limit'>,
  ids: string[],
): Promise<Passage[]> {
  let query = db
    .with(
      (as) => as('hits').materialized(),
      (qb) =>
        qb
          .selectFrom('chunks')
          .select(['id', 'version_id', 'ordinal', 'level', 'parent_ordinal', 'place', 'content'])
          .where('id', '=', sql<string>`any(${ids}::uuid[])`),
    )
    .selectFrom('hits')
    .innerJoin('versions', 'versions.id', 'version_id')
    .innerJoin('sources', 'sources.current_version_id', 'versions.id')
    .select(['hits.id', 'version_id', 'ordinal', 'level', 'parent_ordinal', 'place', 'content'])
    .select(['fetched_at', 'key', 'sources.title', 'sources.url'])
    .select(['sources.category', 'sources.public'])
    .where((where) =>
      where.or([
        where('org_id', '=', org),
        where.and([
          where('sources.public', '=', true),
          where('org_id', '=', sql<number>`any(${publishers}::int[])`),
        ]),
      ]),
    )
  if (category !== undefined) query = query.where('sources.category', '=', category)
  return query.execute()
}

/** The page text of each span, in its order, each passage after the first without what it repeats. A span whose version has just been replaced has none. */
export async function textsOfSpans(db: Db, spans: readonly Span[]): Promise<string[][]> {
  const texts = spans.map((): string[] => [])
  const versions = spans.map(({ best }) => best.version_id)
  const firsts = spans.map(({ first }) => first)
  const lasts = spans.map(({ last }) => last)
  const { rows } = await sql<{ span: number; content: string }>`
    select spans.number - 1 as span,
      case when chunks.place = spans.first then chunks.content
        else substr(chunks.content, chunks.repeated + 1) end as content
    from unnest(${versions}::uuid[], ${firsts}::int[], ${lasts}::int[])
      with ordinality as spans (version_id, first, last, number)
    join chunks on chunks.version_id = spans.version_id and chunks.place between spans.first and spans.last
    order by spans.number, chunks.place`.execute(db)
  for (const { span, content } of rows) texts[span]?.push(content)
  return texts
}
