import type { Db } from '@guildhall/knowledge/db'
import { parseQuery } from '@guildhall/knowledge/search/query'
import { sql } from 'kysely'
import { quantile } from './children.ts'
import { PUBLISHER, type vocabulary } from './knowledge-data.ts'
import type { Asked } from './knowledge-questions.ts'

/**
 * The same questions by the full text search of Postgres, over the same passages with the same filter: the words as
 * alternatives, the 50 best by ts_rank. The table is narrow, holds what the filter needs, and is made anew.
 */
export async function postgresText(
  db: Db,
  asked: readonly Asked[],
  { questionOf }: Awaited<ReturnType<typeof vocabulary>>,
) {
  await sql`drop table if exists bench_text`.execute(db)
  await sql`create table bench_text as
    select chunks.id, org_id, sources.public, to_tsvector('english', content) as words
    from chunks join versions on versions.id = version_id join sources on sources.id = source_id`.execute(
    db,
  )
  await sql`create index on bench_text using gin (words)`.execute(db)
  await sql`create index on bench_text (org_id)`.execute(db)
  await sql`vacuum analyze bench_text`.execute(db)
  const ms: number[] = []
  for (const { org, passage } of asked) {
    const words = parseQuery(questionOf(passage)).words.join(' | ')
    const began = performance.now()
    await sql`select id from bench_text, to_tsquery('english', ${words}) query
      where words @@ query and (org_id = ${org} or public and org_id = any(${[PUBLISHER]}::int[]))
      order by ts_rank(words, query) desc, id limit 50`.execute(db)
    ms.push(performance.now() - began)
  }
  return { p50: quantile(ms, 0.5), p99: quantile(ms, 0.99) }
}
