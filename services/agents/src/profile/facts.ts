import { queueJob } from '@guildhall/bus/jobs'
import { embedNodes, type Fact, type ProfileNode } from '@guildhall/contracts/agent-profile'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Owner, Trx } from '../db.ts'
import { checkHeld } from '../limits.ts'

/**
 * Stores facts with their nodes; a relation that is known keeps the higher confidence. Answers how many
 * different relations they are. New nodes get their vectors from a job. Throws as `checkHeld` does. Call it under
 * `lockOwner`.
 */
export async function storeFacts(
  trx: Trx,
  owner: Owner,
  facts: readonly Fact[],
  now: Date,
): Promise<number> {
  const ids = await storeNodes(trx, owner, facts, now)
  const relations = new Map<string, ReturnType<typeof relationRow>>()
  for (const fact of facts) {
    const row = relationRow(owner, ids, fact, now)
    const key = JSON.stringify([row.subject, row.relation, row.object])
    const confidence = Math.max(row.confidence, relations.get(key)?.confidence ?? 0)
    relations.set(key, { ...row, confidence })
  }
  await storeRelations(trx, owner, [...relations.values()])
  return relations.size
}

async function storeRelations(trx: Trx, owner: Owner, rows: ReturnType<typeof relationRow>[]) {
  const stored = await trx
    .insertInto('relations')
    .values(rows)
    .onConflict((on) =>
      on.constraint('relations_once').doUpdateSet({
        confidence: sql<number>`greatest(relations.confidence, excluded.confidence)`,
      }),
    )
    .returning('id')
    .execute()
  if (anyNew(rows, stored)) await checkHeld(trx, owner, 'relations')
}

/** A row that was there has kept its id. */
function anyNew(rows: { id: string }[], stored: { id: string }[]): boolean {
  const ours = new Set(rows.map(({ id }) => id))
  return stored.some(({ id }) => ours.has(id))
}

const keyOf = ({ kind, label }: ProfileNode) => JSON.stringify([kind, label])

/** The ids of all nodes that the facts name, by kind and label. */
async function storeNodes(trx: Trx, owner: Owner, facts: readonly Fact[], now: Date) {
  const named = facts.flatMap(({ subject, object }) => [subject, object])
  const nodes = new Map(named.map((node) => [keyOf(node), node]))
  const rows = [...nodes.values()].map(({ kind, label }) => ({
    ...{ id: newId(now.getTime()), ...owner, kind, label },
    ...{ vector: null, vector_model: null, updated_at: now },
  }))
  const stored = await trx
    .insertInto('nodes')
    .values(rows)
    .onConflict((on) => on.constraint('nodes_label').doUpdateSet({ updated_at: now }))
    .returning(['id', 'kind', 'label'])
    .execute()
  if (anyNew(rows, stored)) {
    await checkHeld(trx, owner, 'nodes')
    await queueJob(trx, embedNodes, { ...owner, model: null })
  }
  return new Map(stored.map((node) => [keyOf(node), node.id]))
}

function relationRow(owner: Owner, ids: Map<string, string>, fact: Fact, now: Date) {
  const [subject, object] = [ids.get(keyOf(fact.subject)), ids.get(keyOf(fact.object))]
  if (!subject || !object) throw new Error('A node vanished while it was stored')
  const { relation, confidence } = fact
  return { id: newId(now.getTime()), ...owner, subject, relation, object, confidence }
}
