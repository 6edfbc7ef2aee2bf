import {
  bytesOf,
  MOST_ANSWER_BYTES,
  type NewMessage,
  type Summary,
} from '@guildhall/contracts/agent-conversations'
import { sql } from 'kysely'
import type { Db, MessageRow, Owner, Trx } from '../db.ts'
import { isOwned } from './queries.ts'
import { checkCovers, checkLength, ended, noConversation } from './rules.ts'

/**
 * The newest summary, and of the messages that it does not cover the latest `limit`, oldest first: fewer where they
 * would be more than MOST_ANSWER_BYTES. Rows from before bytes were noted are measured as they are read. Nothing where the conversation is not the member's under this visibility.
 */
export async function messagesOf(
  db: Db,
  owner: Owner,
  { id, visibility, limit }: { id: string; visibility?: 'public' | 'private'; limit: number },
): Promise<MessageRow[]> {
  const columns = sql.raw('conversation, seq, role, content, covers, created_at, bytes')
  const { rows } = await sql<MessageRow>`
    with held as (
      select id from conversations
      where id = ${id} and org_id = ${owner.org_id} and chat_user_id = ${owner.chat_user_id}
        and (${visibility ?? null}::text is null or visibility = ${visibility ?? null})
    ), summary as (
      select messages.* from messages join held on held.id = conversation
      where role = 'summary' order by seq desc limit 1
    ), latest as (
      select messages.* from messages join held on held.id = conversation
      where role <> 'summary' and seq > coalesce((select covers from summary), 0)
      order by seq desc limit ${limit}
    ), measured as (
      select latest.*, sum(coalesce(bytes, octet_length(content::text))) over (order by seq desc) as total
      from latest
    )
    select ${columns} from summary union all
    select ${columns} from measured where total <= ${MOST_ANSWER_BYTES}`.execute(db)
  return rows.toSorted((a, b) => place(a) - place(b))
}

/** A summary stands before all messages, whatever its number. */
const place = ({ role, seq }: MessageRow) => (role === 'summary' ? 0 : seq)

/** Takes the next `count` numbers of an open conversation, under its lock; answers the first. */
async function takeSeqs(trx: Trx, owner: Owner, id: string, count: number, now: Date) {
  const row = await trx
    .updateTable('conversations')
    .set({ last_seq: sql<number>`last_seq + ${count}`, updated_at: now })
    .where((where) => where.and({ ...owner, id, state: 'open' }))
    .returning('last_seq')
    .executeTakeFirst()
  if (row) {
    checkLength(row.last_seq)
    return row.last_seq - count + 1
  }
  throw (await isOwned(trx, owner, id)) ? ended() : noConversation()
}

/** Throws where the conversation is ended, full, or not the member's. */
export async function insertMessages(
  trx: Trx,
  owner: Owner,
  { id, messages, now }: { id: string; messages: NewMessage[]; now: Date },
): Promise<number[]> {
  const first = await takeSeqs(trx, owner, id, messages.length, now)
  const rows = messages.map(({ role, content }, n) => ({
    ...{ conversation: id, seq: first + n, role, content: JSON.stringify(content) },
    ...{ covers: null, bytes: bytesOf(content), created_at: now },
  }))
  await trx.insertInto('messages').values(rows).execute()
  return rows.map(({ seq }) => seq)
}

/** A summary takes a number too; answers it. Throws as `insertMessages` and `checkCovers` do. */
export async function insertSummary(
  trx: Trx,
  owner: Owner,
  { id, summary, now }: { id: string; summary: Summary; now: Date },
): Promise<number> {
  const seq = await takeSeqs(trx, owner, id, 1, now)
  const { covers, content } = summary
  checkCovers(covers, { seq, last: await lastCovered(trx, id) })
  const bytes = bytesOf(content)
  const row = { conversation: id, seq, role: 'summary' as const, covers, bytes, created_at: now }
  await trx
    .insertInto('messages')
    .values({ ...row, content: JSON.stringify(content) })
    .execute()
  return seq
}

/** What the newest summary covers; right only under the lock of its conversation. */
async function lastCovered(trx: Trx, conversation: string): Promise<number> {
  const row = await trx
    .selectFrom('messages')
    .select('covers')
    .where('conversation', '=', conversation)
    .where('role', '=', 'summary')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.covers ?? 0
}
