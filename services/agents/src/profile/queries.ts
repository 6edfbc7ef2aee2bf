import type { ProfileNode, Relation, RelationEnds } from '@guildhall/contracts/agent-profile'
import { sql } from 'kysely'
import type { Db, Owner, Trx } from '../db.ts'

interface Page {
  before: string | undefined
  limit: number
}

/** A node or a relation, and where it stands in the list of both. */
export type ProfileItem = { key: string } & ({ node: ProfileNode } | { relation: Relation })

/** The member's relations with their ends; `id` tells the order of making. */
function relationsOf(db: Db, owner: Owner) {
  return db
    .selectFrom('relations')
    .innerJoin('nodes as subjects', 'subjects.id', 'relations.subject')
    .innerJoin('nodes as objects', 'objects.id', 'relations.object')
    .select(['relations.id', 'relations.relation', 'relations.confidence'])
    .select(['subjects.kind as subject_kind', 'subjects.label as subject_label'])
    .select(['objects.kind as object_kind', 'objects.label as object_label'])
    .where('relations.org_id', '=', owner.org_id)
    .where('relations.chat_user_id', '=', owner.chat_user_id)
}

type RelationRow = Awaited<ReturnType<ReturnType<typeof relationsOf>['execute']>>[number]

const shownRelation = (row: RelationRow): Relation => ({
  subject: { kind: row.subject_kind, label: row.subject_label },
  relation: row.relation,
  object: { kind: row.object_kind, label: row.object_label },
  confidence: row.confidence,
})

const nodesOf = (db: Db, owner: Owner) =>
  db
    .selectFrom('nodes')
    .where('org_id', '=', owner.org_id)
    .where('chat_user_id', '=', owner.chat_user_id)

const NODE = 'n'
const RELATION = 'r'

/** Up to `limit` nodes and then relations after `before`, which is the key of one. */
export async function profilePage(
  db: Db,
  owner: Owner,
  { before, limit }: Page,
): Promise<ProfileItem[]> {
  const [kind = NODE, after] = before ? [before.slice(0, 1), before.slice(1)] : []
  const items: ProfileItem[] = []
  if (kind === NODE) {
    let query = nodesOf(db, owner).select(['id', 'kind', 'label']).orderBy('id').limit(limit)
    if (after !== undefined) query = query.where('id', '>', after)
    const nodes = await query.execute()
    items.push(...nodes.map(({ id, ...node }) => ({ key: NODE + id, node })))
  }
  if (items.length < limit) {
    let query = relationsOf(db, owner)
      .orderBy('relations.id')
      .limit(limit - items.length)
    if (kind === RELATION && after !== undefined) query = query.where('relations.id', '>', after)
    const rows = await query.execute()
    items.push(...rows.map((row) => ({ key: RELATION + row.id, relation: shownRelation(row) })))
  }
  return items
}

export const profileFrom = (items: ProfileItem[]) => ({
  nodes: items.flatMap((item) => ('node' in item ? [item.node] : [])),
  relations: items.flatMap((item) => ('relation' in item ? [item.relation] : [])),
})

/** The nodes that facts named last, and the relations of the highest confidence, up to `limit` each. */
export async function bestOfProfile(db: Db, owner: Owner, limit: number) {
  const [nodes, relations] = await Promise.all([
    nodesOf(db, owner)
      .select(['kind', 'label'])
      .orderBy('updated_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute(),
    relationsOf(db, owner)
      .orderBy('relations.confidence', 'desc')
      .orderBy('relations.id', 'desc')
      .limit(limit)
      .execute(),
  ])
  return { nodes, relations: relations.map(shownRelation) }
}

/** Relations from nodes with this label, whatever the case, the newest first. */
export async function matchingRelations(
  db: Db,
  owner: Owner,
  { subject, relation }: { subject: string; relation: string | undefined },
  { before, limit }: Page,
): Promise<{ id: string; shown: Relation }[]> {
  let query = relationsOf(db, owner)
    .where(sql`lower(subjects.label)`, '=', sql`lower(${subject})`)
    .orderBy('relations.id', 'desc')
    .limit(limit)
  if (relation !== undefined)
    query = query.where(sql`lower(relations.relation)`, '=', sql`lower(${relation})`)
  if (before !== undefined) query = query.where('relations.id', '<', before)
  const rows = await query.execute()
  return rows.map((row) => ({ id: row.id, shown: shownRelation(row) }))
}

/** True if there was one. */
export async function removeRelation(
  trx: Trx,
  owner: Owner,
  { subject, relation, object }: RelationEnds,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('relations')
    .where('relation', '=', relation)
    .where(
      'subject',
      'in',
      nodesOf(trx, owner)
        .select('id')
        .where((where) => where.and({ ...subject })),
    )
    .where(
      'object',
      'in',
      nodesOf(trx, owner)
        .select('id')
        .where((where) => where.and({ ...object })),
    )
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Deletes the nodes with this label, and with them their relations; answers how many nodes. */
export async function removeNodes(trx: Trx, owner: Owner, label: string): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom('nodes')
    .where((where) => where.and({ ...owner, label }))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
