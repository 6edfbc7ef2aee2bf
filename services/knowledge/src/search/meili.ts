import {
  type EnqueuedTaskPromise,
  Meilisearch,
  MeilisearchApiError,
  type Settings,
} from 'meilisearch'
import { batchesOf } from './batches.ts'
import { type Hit, type IndexRow, orgId, type TextQuery } from './index.ts'
import { branchesOf, categoryKey, visible } from './meili-query.ts'
import { folded } from './query.ts'

const REQUEST_MS = 30_000
/** Nobody waits longer for a search (leg.ts). */
const SEARCH_MS = 5_000
/** Tasks of one server wait for each other: a large import may be before ours. */
const TASK_MS = 60_000
const POLL_MS = 20
const BATCH = { rows: 1000, bytes: 4 * 2 ** 20 }

/** The customary steps of Lucene's AUTO, as in the embedded index. */
const TYPO_FROM = { oneTypo: 4, twoTypos: 6 }

const SETTINGS: Settings = {
  searchableAttributes: ['text'],
  displayedAttributes: ['id', 'version'],
  filterableAttributes: ['org', 'public', 'category', 'version', 'embedded'],
  // what the rules leave equal is in the order of the ids
  rankingRules: ['words', 'typo', 'proximity', 'exactness', 'id:asc'],
  // a changed digit is another key or hash
  typoTolerance: { enabled: true, minWordSizeForTypos: TYPO_FROM, disableOnNumbers: true },
}

/** The search by words, in one index of Meilisearch. */
export type TextLeg = Awaited<ReturnType<typeof openMeili>>

export interface ServerOptions {
  url: string
  apiKey?: string | undefined
  /** Of the index or collection. */
  name: string
}

/** Opens the index; a missing one is made, and its settings are brought to ours. */
export async function openMeili(options: ServerOptions) {
  const { name } = options
  const client = clientOf(options)
  const searching = clientOf(options, SEARCH_MS)
  await makeIndex(client, name)
  const index = client.index(name)
  await done(index.updateSettings(SETTINGS))

  return {
    /** No rows, or none with a vector. */
    async emptiness() {
      const { numberOfDocuments } = await index.getStats()
      const { hits } = await index.search('', { filter: 'embedded = true', limit: 1 })
      return { rows: numberOfDocuments === 0, embedded: hits.length === 0 }
    },
    async write(rows: readonly IndexRow[]) {
      for (const batch of batchesOf(rows.map(documentOf), BATCH))
        await done(index.addDocuments(batch, { primaryKey: 'id' }))
    },
    async remove(org: number, versions: readonly string[]) {
      const listed = versions.map((version) => JSON.stringify(version)).join(', ')
      await done(
        index.deleteDocuments({ filter: [`org = ${orgId(org)}`, `version IN [${listed}]`] }),
      )
    },
    async search({ query, limit, ...scope }: TextQuery): Promise<Hit[]> {
      const branches = branchesOf(query)
      if (branches.length === 0) return []
      const { hits } = await searching.multiSearch({
        federation: { limit },
        queries: branches.map(({ q, weight }) => ({
          indexUid: name,
          q,
          filter: visible(scope),
          matchingStrategy: 'frequency',
          attributesToRetrieve: ['id', 'version'],
          federationOptions: { weight },
        })),
      })
      return ranked(hits as unknown as Scored[])
    },
  }
}

/** Deletes the index, if it is there. */
export async function dropMeili(options: ServerOptions) {
  await clientOf(options).deleteIndexIfExists(options.name)
}

type Scored = Hit & { _federation?: { weightedRankingScore: number } }

function ranked(hits: Scored[]): Hit[] {
  const score = ({ _federation }: Scored) => _federation?.weightedRankingScore ?? 0
  return hits
    .sort((a, b) => score(b) - score(a) || (a.id < b.id ? -1 : 1))
    .map(({ id, version }) => ({ id, version }))
}

const clientOf = ({ url, apiKey }: ServerOptions, timeout = REQUEST_MS) =>
  new Meilisearch({ host: url, timeout, ...(apiKey && { apiKey }) })

/** Of several processes that make it at once one succeeds. */
async function makeIndex(client: Meilisearch, name: string) {
  const there = await client.getRawIndex(name).catch((error: unknown) => {
    if (error instanceof MeilisearchApiError && error.response.status === 404) return undefined
    throw error
  })
  if (there) return
  const { status, error } = await client
    .createIndex(name, { primaryKey: 'id' })
    .waitTask({ timeout: TASK_MS, interval: POLL_MS })
  if (status !== 'succeeded' && error?.code !== 'index_already_exists') throw failed(error)
}

/** Waits until searches see what a task changed. Throws if it failed. */
async function done(task: EnqueuedTaskPromise) {
  const { status, error } = await task.waitTask({ timeout: TASK_MS, interval: POLL_MS })
  if (status !== 'succeeded') throw failed(error)
}

const failed = (error: { message: string } | null | undefined) =>
  new Error(`A task of Meilisearch failed: ${error?.message ?? 'it was canceled'}`)

/** Its text without accents, as queries are. */
const documentOf = ({ id, org, version, category, text, vector, ...row }: IndexRow) => ({
  id,
  org,
  version,
  public: row.public,
  category: categoryKey(category),
  embedded: vector !== null,
  text: folded(text),
})
