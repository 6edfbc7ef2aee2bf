import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { officialDescription } from '@guildhall/sandbox/testing'
import { cleanUp } from '@guildhall/service/testing'
import { type Exchange, openDescription } from './testing-described.ts'

type Request = Omit<Exchange, 'status' | 'answer'>
type Answer = readonly [status: number, answer: unknown]
/** Answers by `METHOD path`, where `*` stands for one part of the path. One that is promised keeps the client waiting. */
export type Answers = Record<string, (request: Request) => Answer | Promise<Answer>>

/**
 * A server on loopback that records what it is asked and answers from a table. `faults` says where a request or an
 * answer differs from the server's official description; it is undefined where that is not on this machine.
 */
export async function recordingServer(
  t: Pick<TestContext, 'after'>,
  description: string,
  answers: Answers,
) {
  const text = await officialDescription(description)
  const check = text === undefined ? undefined : openDescription(text)
  const exchanges: Exchange[] = []
  const server = createServer(async (req, res) => {
    const sent = Buffer.concat(await req.toArray()).toString()
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost')
    const request = {
      method: req.method ?? '',
      path: pathname,
      query: Object.fromEntries(searchParams),
      body: sent === '' ? undefined : JSON.parse(sent),
    }
    const [status, answer] = await answerOf(answers, request)
    exchanges.push({ ...request, status, answer })
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp(t, async () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    exchanges,
    /** The bodies sent to `METHOD path`. */
    sent: (wanted: string) =>
      exchanges.filter(({ method, path }) => fits(wanted, `${method} ${path}`)),
    faults: () => check && exchanges.flatMap(check),
  }
}

function answerOf(answers: Answers, request: Request) {
  const asked = `${request.method} ${request.path}`
  const found = Object.entries(answers).find(([wanted]) => fits(wanted, asked))
  return found ? found[1](request) : ([404, { message: `nothing answers ${asked}` }] as const)
}

const fits = (wanted: string, asked: string) =>
  new RegExp(`^${wanted.replaceAll('*', '[^/]+')}$`).test(asked)

const AT = '2026-01-01T00:00:00Z'

/** Meilisearch with an index of `rows` rows; its tasks end as `ending` says. */
export function meiliAnswers(world: {
  there: boolean
  rows: number
  ending: 'succeeded' | 'failed'
  hits?: object[]
}): Answers {
  const task = (type: string) => () =>
    [202, { taskUid: 7, indexUid: 'x', status: 'enqueued', type, enqueuedAt: AT }] as const
  const size = { indexSize: 1, usedIndexSize: 1, rawDocumentDbSize: 1, avgDocumentSize: 1 }
  const missing = {
    message: 'not found',
    code: 'index_not_found',
    type: 'invalid_request',
    link: '',
  }
  const found = (hits: object[]) => ({
    hits,
    processingTimeMs: 0,
    limit: 1,
    offset: 0,
    estimatedTotalHits: hits.length,
  })
  return {
    'GET /indexes/*': () =>
      world.there
        ? [200, { uid: 'x', createdAt: AT, updatedAt: AT, primaryKey: 'id' }]
        : [404, missing],
    'POST /indexes': task('indexCreation'),
    'DELETE /indexes/*': task('indexDeletion'),
    'PATCH /indexes/*/settings': task('settingsUpdate'),
    'POST /indexes/*/documents': task('documentAdditionOrUpdate'),
    'POST /indexes/*/documents/delete': task('documentDeletion'),
    'GET /indexes/*/stats': () => [
      200,
      {
        numberOfDocuments: world.rows,
        ...size,
        isIndexing: false,
        fieldDistribution: {},
        numberOfEmbeddings: 0,
        numberOfEmbeddedDocuments: 0,
      },
    ],
    'POST /indexes/*/search': () => [200, { ...found([]), query: '' }],
    'POST /multi-search': () => [200, found(world.hits ?? [])],
    'GET /tasks/7': () => [200, taskOf(world.ending)],
  }
}

function taskOf(status: 'succeeded' | 'failed') {
  const error = {
    message: 'no space left',
    code: 'no_space_left_on_device',
    type: 'system',
    link: '',
  }
  const times = { duration: 'PT1S', enqueuedAt: AT, startedAt: AT, finishedAt: AT }
  const ended = { status, error: status === 'failed' ? error : null }
  return {
    uid: 7,
    batchUid: 1,
    indexUid: 'x',
    type: 'documentAdditionOrUpdate',
    canceledBy: null,
    details: null,
    ...ended,
    ...times,
  }
}

/** Qdrant with a collection whose vectors have `size` numbers. */
export function qdrantAnswers(world: {
  there: boolean
  size: number
  points?: object[]
  broken?: boolean
}): Answers {
  const ok = (result: unknown) => [200, { result, status: 'ok', time: 0 }] as const
  const changed = () =>
    world.broken
      ? ([500, { status: { error: 'disk full' }, time: 0 }] as const)
      : ok({ operation_id: 1, status: 'completed' })
  const config = () => ({
    params: { vectors: { size: world.size, distance: 'Cosine' } },
    hnsw_config: { m: 16, ef_construct: 100, full_scan_threshold: 10_000 },
    optimizer_config: { default_segment_number: 0, flush_interval_sec: 5 },
  })
  return {
    'GET /collections/*/exists': () => ok({ exists: world.there }),
    'PUT /collections/*': () => {
      world.there = true
      return ok(true)
    },
    'GET /collections/*': () =>
      ok({
        status: 'green',
        optimizer_status: 'ok',
        segments_count: 1,
        config: config(),
        payload_schema: {},
      }),
    'DELETE /collections/*': () => ok(true),
    'PUT /collections/*/index': changed,
    'PUT /collections/*/points': changed,
    'POST /collections/*/points/delete': changed,
    'POST /collections/*/points/count': () => ok({ count: 0 }),
    'POST /collections/*/points/query': () => ok({ points: world.points ?? [] }),
  }
}
