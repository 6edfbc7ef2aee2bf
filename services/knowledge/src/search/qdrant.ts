import { EMBEDDING_LENGTH } from '@guildhall/contracts/knowledge'
import { SettingsError } from '@guildhall/service/config'
import { QdrantClient, type Schemas } from '@qdrant/js-client-rest'
import { batchesOf } from './batches.ts'
import { type Hit, type IndexRow, type Scope, storable, type VectorQuery } from './index.ts'
import type { ServerOptions } from './meili.ts'

const REQUEST_MS = 30_000
/** Nobody waits longer for a search (leg.ts). */
const SEARCH_MS = 5_000
/** Some 20 KB a row as JSON; Qdrant takes requests of up to 32 MB. */
const BATCH = { rows: 500, bytes: 8 * 2 ** 20 }
/** Candidates that HNSW keeps while it looks, as in the embedded index. */
const HNSW_EF = 200
/** From here no vector is too far. */
const FARTHEST = 2

/** The fields that filters ask for. With `is_tenant` the rows of an org lie together. */
const FIELDS: Record<string, Schemas['PayloadFieldSchema']> = {
  org: { type: 'keyword', is_tenant: true },
  public: 'bool',
  category: 'keyword',
  version: 'keyword',
  model: 'keyword',
  level: 'integer',
}

/** The search by meaning, in one collection of Qdrant. Opens the collection; a missing one is made, and its fields are indexed. Throws where its vectors are others. */
export async function openQdrant(options: ServerOptions) {
  const { name } = options
  const client = clientOf(options)
  const searching = clientOf(options, SEARCH_MS)
  await makeCollection(client, name)
  for (const [field_name, field_schema] of Object.entries(FIELDS))
    await client.createPayloadIndex(name, { field_name, field_schema, wait: true })

  return {
    async isEmpty() {
      const { count } = await client.count(name, { exact: true })
      return count === 0
    },
    async write(rows: readonly IndexRow[]) {
      for (const points of batchesOf(rows.map(storable).flatMap(pointOf), BATCH))
        await client.upsert(name, { points, wait: true })
    },
    async remove(org: number, versions: readonly string[]) {
      const filter = { must: [ofOrgs([org]), { key: 'version', match: { any: [...versions] } }] }
      await client.delete(name, { filter, wait: true })
    },
    async search({ vector, model, maxDistance, limit, ...scope }: VectorQuery): Promise<Hit[]> {
      const { points } = await searching.query(name, {
        query: [...vector],
        filter: { must: [...visible(scope), equals('model', model)] },
        params: { hnsw_ef: Math.max(HNSW_EF, limit), exact: false },
        limit,
        with_payload: ['version'],
        ...(maxDistance < FARTHEST && { score_threshold: 1 - maxDistance }),
      })
      return points
        .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
        .map(({ id, payload }) => ({ id: String(id), version: String(payload?.version) }))
    },
  }
}

/** Deletes the collection, if it is there. */
export async function dropQdrant(options: ServerOptions) {
  await clientOf(options).deleteCollection(options.name)
}

/** The client takes neither the path nor the usual port of a URL by itself. */
function clientOf({ url, apiKey }: ServerOptions, timeout = REQUEST_MS) {
  const { pathname, port } = new URL(url)
  return new QdrantClient({
    url: new URL('/', url).href,
    prefix: pathname.replace(/\/$/, ''),
    port: port ? Number(port) : null,
    timeout,
    checkCompatibility: false,
    headers: { 'api-key': apiKey },
  })
}

/** Of several processes that make it at once one succeeds, and the others find it there. */
async function makeCollection(client: QdrantClient, name: string) {
  const vectors = { size: EMBEDDING_LENGTH, distance: 'Cosine' } as const
  const { exists } = await client.collectionExists(name)
  const refused = exists
    ? undefined
    : await client.createCollection(name, { vectors }).then(
        () => undefined,
        (error: unknown) => ({ error }),
      )
  if (refused && !(await client.collectionExists(name)).exists) throw refused.error
  const { config } = await client.getCollection(name)
  const held = config.params.vectors
  if (held?.size === vectors.size && held.distance === vectors.distance) return
  throw new SettingsError(
    `The collection ${name} of QDRANT_URL does not hold vectors of ${EMBEDDING_LENGTH} numbers with cosine distance: delete it, and it is made again from the database`,
  )
}

function pointOf({ id, org, vector, model, version, category, level, ...row }: IndexRow) {
  if (!vector) return []
  if (vector.length !== EMBEDDING_LENGTH)
    throw new RangeError(`A vector has ${EMBEDDING_LENGTH} numbers`)
  const payload = { org: String(org), public: row.public, category, version, level, model }
  return [{ id, vector: [...vector], payload }]
}

const equals = (key: string, value: string | boolean) => ({ key, match: { value } })
const ofOrgs = (orgs: readonly number[]) => ({ key: 'org', match: { any: orgs.map(String) } })

function visible({ org, publishers, category }: Omit<Scope, 'limit'>) {
  const others = { must: [equals('public', true), ofOrgs(publishers)] }
  const seen = publishers.length > 0 ? { should: [ofOrgs([org]), others] } : ofOrgs([org])
  return category === undefined ? [seen] : [seen, equals('category', category)]
}
