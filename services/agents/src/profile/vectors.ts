import { createHash } from 'node:crypto'
import { queueJob } from '@guildhall/bus/jobs'
import { embedNodes } from '@guildhall/contracts/agent-profile'
import { MOST_EMBED_TEXTS } from '@guildhall/contracts/embeddings'
import { AppError } from '@guildhall/service/errors'
import { sql } from 'kysely'
import { type Embedded, embed } from '../clients/embedder.ts'
import type { Db, Owner, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { lockOwner } from '../owner.ts'

/** Nodes of a member that have vectors and are compared, those that facts named last: 4 kB each. */
export const MOST_COMPARED = 2_000
/** Batches that give all of them a vector. */
export const ALL_BATCHES = Math.ceil(MOST_COMPARED / MOST_EMBED_TEXTS)

/** Which nodes lack a vector: those that have none of this model, or none at all where it is not known. */
type Model = string | null

/**
 * Gives the member's nodes the vectors that they lack, 64 in a batch, and stores them. Where the org has no embedder, or
 * it fails, they wait for the next time: what has a vector is compared meanwhile.
 */
export async function embedLacking(
  { db, bus, log }: Pick<Deps, 'db' | 'bus' | 'log'>,
  owner: Owner,
  { model, batches }: { model: Model; batches: number },
): Promise<void> {
  let known = model
  try {
    for (let batch = 0; batch < batches; batch++) {
      const nodes = await lackingNodes(db, owner, { model: known, limit: MOST_EMBED_TEXTS })
      if (nodes.length === 0) return
      const texts = nodes.map(({ kind, label }) => `${kind}: ${label}`)
      const embedded = await embed(bus, owner.org_id, 'passage', texts)
      if (!embedded) return
      await db.transaction().execute((trx) => storeVectors(trx, owner, nodes, embedded))
      known = embedded.model
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    log.warn({ err: error }, 'Some nodes of a profile have no vector yet')
  }
}

/** Queues the job for nodes without a vector of this model, if there are any: once a minute for a member. */
export async function queueLacking(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  owner: Owner,
  model: string,
): Promise<void> {
  const lacking = await lackingNodes(db, owner, { model, limit: 1 })
  if (lacking.length === 0) return
  const id = runOf([owner.org_id, owner.chat_user_id, model, Math.floor(now().getTime() / 60_000)])
  await db.transaction().execute((trx) => queueJob(trx, embedNodes, { ...owner, model }, id))
}

/** The same UUID (version 8) for the same parts, so that what is queued twice runs once. */
function runOf(parts: unknown[]): string {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  const at = (from: number, to: number) => hex.slice(from, to)
  return `${at(0, 8)}-${at(8, 12)}-8${at(12, 15)}-8${at(15, 18)}-${at(18, 30)}`
}

function lackingNodes(db: Db, owner: Owner, { model, limit }: { model: Model; limit: number }) {
  const newest = db
    .selectFrom('nodes')
    .select(['id', 'kind', 'label', 'vector_model'])
    .where((where) => where.and({ ...owner }))
    .orderBy('updated_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MOST_COMPARED)
  return db
    .selectFrom(newest.as('newest'))
    .select(['id', 'kind', 'label'])
    .where((where) =>
      where.or([
        where('vector_model', 'is', null),
        ...(model === null ? [] : [where('vector_model', '<>', model)]),
      ]),
    )
    .limit(limit)
    .execute()
}

async function storeVectors(
  trx: Trx,
  { org_id, chat_user_id }: Owner,
  nodes: { id: string }[],
  { model, vectors }: Embedded,
) {
  const rows = nodes.map(({ id }, n) => sql`(${id}::uuid, ${vectors[n]}::bytea)`)
  await lockOwner(trx, { org_id, chat_user_id })
  await sql`update nodes set vector = made.vector, vector_model = ${model}
    from (values ${sql.join(rows)}) as made (id, vector)
    where nodes.id = made.id and org_id = ${org_id} and chat_user_id = ${chat_user_id}`.execute(trx)
}
