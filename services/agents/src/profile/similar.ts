import type { NearNode } from '@guildhall/contracts/agent-profile'
import { AppError } from '@guildhall/service/errors'
import { embed } from '../clients/embedder.ts'
import type { Db, Owner } from '../db.ts'
import type { Deps } from '../deps.ts'
import { cosineDistance, numbersOf } from './distance.ts'
import { embedLacking, MOST_COMPARED, queueLacking } from './vectors.ts'

/** Batches of nodes that one search gives a vector; the next search goes on. */
const BATCHES = 4
/** How long a turn waits for the embedder in all. */
const TURN_MS = 1_000

interface Wanted {
  text: string
  limit: number
}

/**
 * The member's nodes whose meaning is nearest to `text`; nothing where the org has no embedder. Nodes that lack a vector
 * get it first. Throws what the embedder throws.
 */
export async function similarNodes(
  deps: Pick<Deps, 'db' | 'bus' | 'log'>,
  owner: Owner,
  { text, limit }: Wanted,
): Promise<NearNode[] | undefined> {
  const asked = await embed(deps.bus, owner.org_id, 'query', [text])
  if (!asked) return undefined
  await embedLacking(deps, owner, { model: asked.model, batches: BATCHES })
  return nearest(deps.db, owner, asked, limit)
}

/**
 * The same for a turn, which waits a second at most and compares what has a vector; a job makes those that lack. Nothing
 * also where the embedder fails or is slow: it keeps no agent from its turn.
 */
export async function similarInTurn(
  deps: Deps,
  owner: Owner,
  { text, limit }: Wanted,
): Promise<NearNode[] | undefined> {
  try {
    const asked = await embed(deps.bus, owner.org_id, 'query', [text], TURN_MS)
    if (!asked) return undefined
    await queueLacking(deps, owner, asked.model)
    return await nearest(deps.db, owner, asked, limit)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    deps.log.warn({ err: error }, 'A turn goes without similar nodes')
    return undefined
  }
}

/** Exact and in memory, among the nodes with a vector of the same model. */
async function nearest(
  db: Db,
  owner: Owner,
  { model, vectors: [asked] }: { model: string; vectors: Buffer[] },
  limit: number,
): Promise<NearNode[]> {
  if (!asked) return []
  const nodes = await db
    .selectFrom('nodes')
    .select(['kind', 'label', 'vector'])
    .where((where) => where.and({ ...owner, vector_model: model }))
    .orderBy('updated_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MOST_COMPARED)
    .execute()
  const text = numbersOf(asked)
  const near = nodes.flatMap(({ kind, label, vector }) =>
    vector ? [{ kind, label, distance: cosineDistance(text, numbersOf(vector)) }] : [],
  )
  return near.toSorted((a, b) => a.distance - b.distance).slice(0, limit)
}
