import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { indexConformance } from './conformance.ts'
import { passage, pointing, vectorAt } from './conformance-rows.ts'
import { branchesOf, categoryKey } from './meili-query.ts'
import { dropServers, openServers } from './servers.ts'
import { meiliAnswers, qdrantAnswers, recordingServer } from './testing-servers.ts'

const HOSTILE = `o'brien" OR org = 2 --\\`
const scope = { org: 1, publishers: [2, 3], category: HOSTILE, limit: 5 }
const nearest = { ...scope, vector: vectorAt(0), model: "m'1", maxDistance: 0.6 }

/** The index on two recording servers. The test ends with a look at the official descriptions. */
async function open(t: TestContext) {
  const words = {
    there: false,
    rows: 0,
    ending: 'succeeded' as 'succeeded' | 'failed',
    hits: [] as object[],
  }
  const vectors = { there: false, size: 1024, points: [] as object[], broken: false }
  const meili = await recordingServer(t, 'meilisearch.json', meiliAnswers(words))
  const qdrant = await recordingServer(t, 'qdrant.json', qdrantAnswers(vectors))
  const options = { meili, qdrant: { url: `${qdrant.url}/` }, name: 'guildhall-1' }
  const described = () => {
    const faults = [meili.faults(), qdrant.faults()]
    if (faults.includes(undefined))
      t.diagnostic('The official descriptions are not on this machine')
    assert.deepEqual(
      faults.flatMap((list) => list ?? []),
      [],
    )
  }
  return { words, vectors, meili, qdrant, options, described }
}

test('a missing index and collection are made, with what filters and ties need', async (t) => {
  const { meili, qdrant, options, described } = await open(t)
  const index = await openServers(options)
  assert.equal(index.created, true)
  assert.deepEqual(meili.sent('POST /indexes')[0]?.body, { uid: 'guildhall-1', primaryKey: 'id' })
  const settings = meili.sent('PATCH /indexes/guildhall-1/settings')[0]?.body as Record<
    string,
    unknown
  >
  assert.deepEqual(settings.searchableAttributes, ['text'])
  assert.equal((settings.rankingRules as string[]).at(-1), 'id:asc')
  const made = qdrant.sent('PUT /collections/guildhall-1')[0]?.body as Record<string, unknown>
  assert.deepEqual(made.vectors, { size: 1024, distance: 'Cosine' })
  const fields = qdrant.sent('PUT /collections/guildhall-1/index')
  assert.deepEqual(fields.map(({ body }) => (body as { field_name: string }).field_name).sort(), [
    ...['category', 'level', 'model', 'org', 'public', 'version'],
  ])
  assert.deepEqual(fields[0]?.body, {
    field_name: 'org',
    field_schema: { type: 'keyword', is_tenant: true },
  })
  assert.ok(fields.every(({ query }) => query.wait === 'true'))
  assert.equal(meili.sent('GET /tasks/7').length, 2)
  described()
})

test('an index that is there is not new, and its collection must hold our vectors', async (t) => {
  const { words, vectors, meili, qdrant, options, described } = await open(t)
  Object.assign(words, { there: true, rows: 3 })
  vectors.there = true
  assert.equal((await openServers(options)).created, false)
  assert.deepEqual(meili.sent('POST /indexes'), [])
  assert.deepEqual(qdrant.sent('PUT /collections/guildhall-1'), [])
  vectors.size = 512
  await assert.rejects(openServers(options), /QDRANT_URL does not hold vectors of 1024/)
  described()
})

test('rows are written to both servers, in bounded requests, and waited for', async (t) => {
  const { meili, qdrant, options, described } = await open(t)
  const index = await openServers(options)
  const rows = Array.from({ length: 1100 }, (_, n) => pointing(n, { category: HOSTILE }))
  const before = meili.sent('GET /tasks/7').length
  await index.write([...rows, passage('Résumé')])
  const documents = meili.sent('POST /indexes/guildhall-1/documents')
  assert.deepEqual(
    documents.map(({ body }) => (body as object[]).length),
    [1000, 101],
  )
  assert.deepEqual(documents[0]?.query, { primaryKey: 'id' })
  assert.equal(meili.sent('GET /tasks/7').length, before + 2)
  const [first] = documents.flatMap(({ body }) => body as object[])
  const { id, version } = rows[0] ?? passage('')
  const kept = { id, version, org: 1, public: false, category: categoryKey(HOSTILE) }
  assert.deepEqual(first, { ...kept, embedded: true, text: 'at 0' })
  const upserts = qdrant.sent('PUT /collections/guildhall-1/points')
  const points = upserts.flatMap(({ body }) => (body as { points: { payload: unknown }[] }).points)
  assert.equal(points.length, 1100)
  const payload = { org: '1', public: false, category: HOSTILE, version, level: 0, model: 'm1' }
  assert.deepEqual(points[0]?.payload, payload)
  for (const { body, query } of upserts) {
    assert.equal(query.wait, 'true')
    assert.ok(JSON.stringify(body).length < 9 * 2 ** 20)
  }
  described()
})

test('versions are removed from both servers, in their org only', async (t) => {
  const { meili, qdrant, options, described } = await open(t)
  const index = await openServers(options)
  const [one, other] = [randomUUID(), randomUUID()]
  await index.remove(4, [one, other])
  assert.deepEqual(meili.sent('POST /indexes/guildhall-1/documents/delete')[0]?.body, {
    filter: ['org = 4', `version IN ["${one}", "${other}"]`],
  })
  const [removed] = qdrant.sent('POST /collections/guildhall-1/points/delete')
  assert.deepEqual(removed?.body, {
    filter: {
      must: [
        { key: 'org', match: { any: ['4'] } },
        { key: 'version', match: { any: [one, other] } },
      ],
    },
  })
  assert.equal(removed?.query.wait, 'true')
  await index.upkeep()
  described()
})

test('a search by words says who may see what, and ties come in the order of their ids', async (t) => {
  const { words, meili, options, described } = await open(t)
  const index = await openServers(options)
  const hit = (id: string, weightedRankingScore: number) => ({
    ...{ id, version: 'v' },
    _federation: { indexUid: 'guildhall-1', queriesPosition: 0, weightedRankingScore },
  })
  words.hits = [hit('b', 0.5), hit('a', 0.5), hit('c', 0.9)]
  const found = await index.searchText({ ...scope, query: 'reset the password' })
  assert.deepEqual(
    found.map(({ id }) => id),
    ['c', 'a', 'b'],
  )
  const asked = meili.sent('POST /multi-search')[0]?.body as {
    federation: unknown
    queries: Record<string, unknown>[]
  }
  assert.deepEqual(asked.federation, { limit: 5 })
  assert.deepEqual(
    asked.queries.map(({ q }) => q),
    ['reset password', 'reset', 'password'],
  )
  for (const query of asked.queries) {
    assert.equal(query.indexUid, 'guildhall-1')
    assert.deepEqual(query.filter, [
      'org = 1 OR (public = true AND org IN [2, 3])',
      `category = ${categoryKey(HOSTILE)}`,
    ])
  }
  const before = meili.exchanges.length
  assert.deepEqual(await index.searchText({ ...scope, query: '-blue' }), [])
  assert.equal(meili.exchanges.length, before)
  described()
})

test('a search by meaning says who may see what, of which model and how far', async (t) => {
  const { vectors, qdrant, options, described } = await open(t)
  const index = await openServers(options)
  const [a, b] = [randomUUID(), randomUUID()].sort()
  const point = (id = '') => ({ id, version: 1, score: 0.8, payload: { version: `of ${id}` } })
  vectors.points = [point(b), point(a)]
  const found = await index.searchVector(nearest)
  assert.deepEqual(
    found,
    [a, b].map((id) => ({ id, version: `of ${id}` })),
  )
  await index.searchVector({ ...nearest, publishers: [], category: undefined, maxDistance: 2 })
  const [first, second] = qdrant
    .sent('POST /collections/guildhall-1/points/query')
    .map(({ body }) => body as Record<string, unknown>)
  const own = { key: 'org', match: { any: ['1'] } }
  const model = { key: 'model', match: { value: "m'1" } }
  const shared = {
    must: [
      { key: 'public', match: { value: true } },
      { key: 'org', match: { any: ['2', '3'] } },
    ],
  }
  const category = { key: 'category', match: { value: HOSTILE } }
  assert.deepEqual(first?.filter, { must: [{ should: [own, shared] }, category, model] })
  assert.equal(first?.score_threshold, 0.4)
  assert.equal(first?.limit, 5)
  assert.deepEqual(first?.params, { hnsw_ef: 200, exact: false })
  assert.deepEqual(second?.filter, { must: [own, model] })
  assert.equal(second?.score_threshold, undefined)
  described()
})

test('a task that fails, a server that refuses and one that is away are errors of the index', async (t) => {
  const { words, vectors, options, described } = await open(t)
  const index = await openServers(options)
  const failed = { kind: 'unavailable', code: 'search_index.unreadable' }
  words.ending = 'failed'
  await assert.rejects(index.write([passage('fox')]), failed)
  words.ending = 'succeeded'
  await index.write([pointing(1)])
  vectors.broken = true
  await assert.rejects(index.write([pointing(1)]), failed)
  await assert.rejects(index.remove(1, [randomUUID()]), failed)
  const away = { ...options, meili: { url: 'http://127.0.0.1:1' } }
  await assert.rejects(openServers(away), failed)
  described()
})

test('a closed index answers nothing, and a dropped one leaves nothing behind', async (t) => {
  const { meili, qdrant, options, described } = await open(t)
  const index = await openServers(options)
  await index.close()
  await assert.rejects(index.searchText({ ...scope, query: 'fox' }), {
    code: 'search_index.closed',
  })
  await assert.rejects(index.write([passage('fox')]), { code: 'search_index.closed' })
  await dropServers(options)
  assert.equal(meili.sent('DELETE /indexes/guildhall-1').length, 1)
  assert.equal(qdrant.sent('DELETE /collections/guildhall-1').length, 1)
  described()
})

test('a query is put to Meilisearch as it is meant', () => {
  const asked = (query: string) => branchesOf(query).map(({ q }) => q)
  assert.deepEqual(asked('fox'), ['fox'])
  assert.deepEqual(asked('fox OR dog'), ['fox dog', 'fox', 'dog'])
  assert.deepEqual(asked('"brown fox" den'), ['"brown fox" den'])
  assert.deepEqual(asked('"brown fox" OR "is brown"'), ['"brown fox"', '"is brown"'])
  assert.deepEqual(asked('fox -blue -"red dog"'), ['fox -"blue" -"red dog"'])
  for (const nothing of ['', '"', '-blue', 'OR', '*:~^\\/']) assert.deepEqual(asked(nothing), [])
})

test('the check against the official descriptions finds what does not fit', async (t) => {
  const { meili, qdrant } = await open(t)
  const send = (url: string, method: string, body: object) =>
    fetch(url, { method, body: JSON.stringify(body) })
  await send(`${meili.url}/multi-search`, 'POST', { queries: [{ indexUid: 'x', q: 1 }] })
  await send(`${meili.url}/no-such-path`, 'POST', {})
  await send(`${qdrant.url}/collections/x/points?wait=1`, 'PUT', { points: [{ id: -1 }] })
  if (meili.faults() === undefined)
    t.diagnostic('The official descriptions are not on this machine')
  else assert.deepEqual([meili.faults()?.length, (qdrant.faults() ?? []).length >= 2], [2, true])
})

const { MEILI_URL, MEILI_API_KEY, QDRANT_URL, QDRANT_API_KEY } = process.env
const realServers = (meili: string, qdrant: string) => async (t: TestContext) => {
  const options = {
    meili: { url: meili, apiKey: MEILI_API_KEY },
    qdrant: { url: qdrant, apiKey: QDRANT_API_KEY },
    name: `guildhall-test-${randomUUID()}`,
  }
  const index = await openServers(options)
  t.after(async () => {
    await index.close()
    await dropServers(options)
  })
  return index
}

if (MEILI_URL && QDRANT_URL) {
  // Meilisearch has no stems, and corrects right words too
  const promises = { wordForms: false, noLookAlikes: false }
  indexConformance('meilisearch and qdrant', realServers(MEILI_URL, QDRANT_URL), promises)
} else {
  process.stdout.write(
    '# MEILI_URL and QDRANT_URL are not set: the conformance suite does not run against real servers\n',
  )
}
