import { RECENT_DAYS, type Sections } from '@guildhall/contracts/dashboard'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** What the overview of an org shows of its machine tokens that count, and of those of members' CLIs. */
export async function sectionsOf(db: Db, orgId: number, now: Date): Promise<Sections> {
  const soon = new Date(now.getTime() + RECENT_DAYS * 86_400_000)
  const { rows } = await sql<NonNullable<Sections['tokens']>>`
    select (count(*) filter (where kind <> 'cli'))::int as machine_tokens,
      (count(*) filter (where kind <> 'cli' and expires_at < ${soon}))::int as ending_soon,
      (count(*) filter (where kind = 'cli'))::int as cli_tokens
    from machine_tokens
    where org_id = ${orgId} and (expires_at is null or expires_at > ${now})`.execute(db)
  return { tokens: rows[0] }
}
