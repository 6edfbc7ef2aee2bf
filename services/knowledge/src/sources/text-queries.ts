import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** Up to `most` code points of a version's page text from `offset` on, and how many there are in all. */
export async function pieceOfText(
  db: Db,
  versionId: string,
  { offset, most }: { offset: number; most: number },
): Promise<{ text: string; total_chars: number }> {
  const { rows } = await sql<{ text: string; total_chars: number }>`
    with parts as (
      select place, case when place = 0 then '' else E'\n\n' end || substr(content, repeated + 1) as part
      from chunks where version_id = ${versionId} and place is not null
    ), placed as (
      select part, length(part) as chars, sum(length(part)) over (order by place) - length(part) as at
      from parts
    ), piece as (
      select at, substr(part, greatest(first - at, 0)::int + 1, (last - greatest(first, at))::int) as text
      from placed, (select ${offset}::bigint as first, ${offset}::bigint + ${most}::bigint as last) as asked
      where at < last and at + chars > first
    )
    select
      (select coalesce(string_agg(text, '' order by at), '') from piece) as text,
      (select coalesce(sum(chars), 0)::int from placed) as total_chars`.execute(db)
  return rows[0] ?? { text: '', total_chars: 0 }
}
