import type { NearNode } from '@guildhall/contracts/agent-profile'
import { MOST_EMBED_TEXTS } from '@guildhall/contracts/embeddings'
import { AppError } from '@guildhall/service/errors'
import { sql } from 'kysely'
import { embed } from '../clients/embedder.ts'
import type { Db, Owner, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { lockOwner } from '../owner.ts'
import { cosineDistance, numbersOf } from './distance.ts'

/** Nodes of a member that are compared, those that facts named last: 4 kB each. */
const MOST_COMPARED = 2_000
/** Nodes that one search gives a vector; the next search goes on. */
const MOST_EMBEDDED = 4 * MOST_EMBED_TEXTS

type Similar = Pick<Deps, 'db' | 'bus' | 'log'>

/**
 * The member's nodes whose meaning is nearest to `text`; nothing where the org has no embedder. Nodes get their
 * vector here, at the first search after they came or after the org changed its embedder.
 */
export async function similarNodes(
  deps: Similar,
  owner: Owner,
  { text, limit }: { text: string; limit: number },
): Promise<NearNode[] | undefined> {
  const [asked, nodes] = await Promise.all([
    embed(deps.bus, owner.org_id, 'query', [text]),
    newestNodes(deps.db, owner),
  ])
  const [vector] = asked?.vectors ?? []
  if (!asked || !vector) return undefined
  const lacking = nodes.filter(({ vector_model }) => vector_model !== asked.model)
  const made = await embedNodes(deps, owner, lacking.slice(0, MOST_EMBEDDED))
  const near = nodes.flatMap(({ id, kind, label, ...node }) => {
    const own = node.vector_model === asked.model ? node.vector : made.get(id)
    return own ? [{ kind, label, distance: cosineDistance(numbersOf(vector), numbersOf(own)) }] : []
  })
  return near.toSorted((a, b) => a.distance - b.distance).slice(0, limit)
}

type Node = Awaited<ReturnType<typeof newestNodes>>[number]

function newestNodes(db: Db, owner: Owner) {
  return db
    .selectFrom('nodes')
    .select(['id', 'kind', 'label', 'vector', 'vector_model'])
    .where((where) => where.and({ ...owner }))
    .orderBy('updated_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MOST_COMPARED)
    .execute()
}

/** Vectors of nodes by id, stored for the next search. While the embedder fails the others must do. */
async function embedNodes({ db, bus, log }: Similar, owner: Owner, nodes: Node[]) {
  const made = new Map<string, Buffer>()
  for (let at = 0; at < nodes.length; at += MOST_EMBED_TEXTS) {
    const batch = nodes.slice(at, at + MOST_EMBED_TEXTS)
    const texts = batch.map(({ kind, label }) => `${kind}: ${label}`)
    try {
      const embedded = await embed(bus, owner.org_id, 'passage', texts)
      if (!embedded) break
      batch.forEach(({ id }, n) => {
        const vector = embedded.vectors[n]
        if (vector) made.set(id, vector)
      })
      await db.transaction().execute((trx) => storeVectors(trx, owner, batch, embedded))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      log.warn({ err: error }, 'Some nodes of a profile have no vector yet')
      break
    }
  }
  return made
}

async function storeVectors(
  trx: Trx,
  owner: Owner,
  nodes: Node[],
  { model, vectors }: { model: string; vectors: Buffer[] },
) {
  const rows = nodes.map(({ id }, n) => sql`(${id}::uuid, ${vectors[n]}::bytea)`)
  await lockOwner(trx, owner)
  await sql`update nodes set vector = made.vector, vector_model = ${model}
    from (values ${sql.join(rows)}) as made (id, vector) where nodes.id = made.id`.execute(trx)
}
