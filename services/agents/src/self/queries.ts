import { sql } from 'kysely'
import type { Db, MemoryRow, MessageRow, Owner } from '../db.ts'

interface After {
  after: string | undefined
  limit: number
}

/** How many rows of each kind are held of a member. */
export async function countsOf(db: Db, owner: Owner) {
  const counted = (table: string) =>
    sql`(select count(*) from ${sql.table(table)} where org_id = ${owner.org_id} and chat_user_id = ${owner.chat_user_id})`
  const { rows } = await sql<{
    conversations: number
    memories: number
    nodes: number
    relations: number
    pending: number
  }>`select ${counted('conversations')} as conversations, ${counted('memories')} as memories,
    ${counted('nodes')} as nodes, ${counted('relations')} as relations, ${counted('pending_actions')} as pending`.execute(
    db,
  )
  const [counts] = rows
  if (!counts) throw new Error('A count answered no row')
  return counts
}

const heldConversations = (db: Db, owner: Owner) =>
  db
    .selectFrom('conversations')
    .select(['id', 'channel_id', 'visibility', 'state', 'created_at', 'updated_at'])
    .select('last_seq as messages')
    .where('org_id', '=', owner.org_id)
    .where('chat_user_id', '=', owner.chat_user_id)

export const newestConversations = (db: Db, owner: Owner, limit: number) =>
  heldConversations(db, owner).orderBy('updated_at', 'desc').orderBy('id').limit(limit).execute()

/** For the export: page by page, in the order of their ids. */
export function conversationsAfter(db: Db, owner: Owner, { after, limit }: After) {
  let query = heldConversations(db, owner).orderBy('id').limit(limit)
  if (after !== undefined) query = query.where('id', '>', after)
  return query.execute()
}

export function messagesAfter(
  db: Db,
  conversation: string,
  { after, limit }: { after: number; limit: number },
): Promise<MessageRow[]> {
  return db
    .selectFrom('messages')
    .selectAll()
    .where('conversation', '=', conversation)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/** Expired ones too, until they are pruned: they are held. */
export function memoriesAfter(db: Db, owner: Owner, { after, limit }: After): Promise<MemoryRow[]> {
  let query = db
    .selectFrom('memories')
    .selectAll()
    .where((where) => where.and({ ...owner }))
    .orderBy('id')
    .limit(limit)
  if (after !== undefined) query = query.where('id', '>', after)
  return query.execute()
}

export function pendingAfter(db: Db, owner: Owner, { after, limit }: After) {
  let query = db
    .selectFrom('pending_actions')
    .selectAll()
    .where((where) => where.and({ ...owner }))
    .orderBy('id')
    .limit(limit)
  if (after !== undefined) query = query.where('id', '>', after)
  return query.execute()
}
