import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { consume } from '@guildhall/bus/consume'
import { busAs } from '@guildhall/bus/testing'
import { ErrorEvent } from '@guildhall/contracts/event'
import { putSource, search } from '@guildhall/contracts/knowledge'
import { putKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import { readinessOf } from '@guildhall/contracts/ops'
import { cleanUp, until } from '@guildhall/service/testing'
import { testKnowledge } from '../testing.ts'
import { body, member, officer, vectorAt, vectorBody } from '../testing-bodies.ts'
import { testEmbedder } from '../testing-embedder.ts'
import { meiliAnswers, qdrantAnswers, recordingServer } from './testing-servers.ts'

type Knowledge = Awaited<ReturnType<typeof testKnowledge>>
const MULTI_SEARCH = 'POST /multi-search'
const QUERY = 'POST /collections/*/points/query'
const OWN = { embedding: vectorAt(0), embedding_model: 'm1' }

/** What ops hears of a knowledge: its errors, and what its health lacks. */
async function opsOf(t: TestContext, { settings }: Pick<Knowledge, 'settings'>) {
  const ops = await busAs(t, { url: settings.NATS_URL, peer: 'ops' })
  const errors: ErrorEvent[] = []
  const ending = new AbortController()
  const consumption = {
    stream: 'ERRORS',
    durable: 'ops-errors',
    subject: 'errors.*',
    concurrency: 1,
    handle: async (message: { json(): unknown }) => {
      errors.push(ErrorEvent.parse(message.json()))
    },
  }
  const running = consume(ops, consumption, ending.signal)
  cleanUp(t, () => {
    ending.abort()
    return running
  })
  const missing = async () => (await ask(ops, readinessOf('knowledge'), {})).missing
  return { errors, missing }
}

/** Knowledge on two stand-ins that both find its one passage, unless they are broken or hold their answers back. */
async function onServers(t: TestContext) {
  const found = { hits: [] as object[], points: [] as object[] }
  const meiliWorld = { there: true, rows: 1, ending: 'succeeded' as const, ...found }
  const qdrantWorld = { there: true, size: 1024, ...found }
  const broken = { words: false, meaning: false }
  let held: Promise<void> | undefined
  const meili = meiliAnswers(meiliWorld)
  const qdrant = qdrantAnswers(qdrantWorld)
  const [words, vectors] = await Promise.all([
    recordingServer(t, 'meilisearch.json', {
      ...meili,
      [MULTI_SEARCH]: (asked) =>
        broken.words ? [500, { message: 'no' }] : (meili[MULTI_SEARCH]?.(asked) ?? [404, {}]),
    }),
    recordingServer(t, 'qdrant.json', {
      ...qdrant,
      [QUERY]: async (asked) => {
        await held
        return broken.meaning ? [500, {}] : (qdrant[QUERY]?.(asked) ?? [404, {}])
      },
    }),
  ])
  const knowledge = await testKnowledge(t, { MEILI_URL: words.url, QDRANT_URL: vectors.url })
  const alpha = knowledge.as(member(1))
  const put = await alpha.call(putSource, {
    params: { key: 'a' },
    body: vectorBody('m1', ['a fox', 0]),
  })
  assert.equal(put.status, 201)
  const { id, version_id: version } = await knowledge.db
    .selectFrom('chunks')
    .select(['id', 'version_id'])
    .executeTakeFirstOrThrow()
  meiliWorld.hits = [{ id, version }]
  qdrantWorld.points = [{ id, version: 1, score: 0.9, payload: { version } }]
  const hold = (until: Promise<void> | undefined) => {
    held = until
  }
  return { knowledge, broken, hold, ...(await opsOf(t, knowledge)) }
}

async function find({ as }: Knowledge, asked: object = {}) {
  const began = performance.now()
  const reply = await as(member(1)).call(search, { body: { query: 'fox', ...asked } })
  const seconds = (performance.now() - began) / 1000
  if (reply.status !== 200) return { status: reply.status, body: reply.body, seconds }
  const { results, dense } = reply.body
  return { status: 200, dense, contents: results.map(({ content }) => content), seconds }
}

test('while Qdrant hangs searches go by words, wait for it only briefly after some, and say so to the superadmin', async (t) => {
  const { knowledge, hold, errors, missing } = await onServers(t)
  assert.equal((await find(knowledge, OWN)).dense, true)
  const released = Promise.withResolvers<void>()
  hold(released.promise)
  for (const first of await Promise.all([1, 2, 3].map(() => find(knowledge, OWN))))
    assert.deepEqual([first.dense, first.contents], [false, ['a fox']])
  const next = await find(knowledge, OWN)
  assert.deepEqual([next.dense, next.contents], [false, ['a fox']])
  assert.ok(next.seconds < 2, `${next.seconds} s`)
  await until(() => errors.length > 0)
  assert.match((await missing()).join(), /^search: the search by meaning fails since 20.*Z: /)
  assert.equal((await fetch(`${knowledge.url}/ready`)).status, 200)

  released.resolve()
  await until(async () => (await find(knowledge, OWN)).dense)
  assert.deepEqual(await missing(), [])
  assert.deepEqual(
    errors.map(({ kind }) => kind),
    ['search.slow'],
  )
})

test('while Qdrant refuses searches go by words, and the reason is told once', async (t) => {
  const { knowledge, broken, errors } = await onServers(t)
  broken.meaning = true
  for (const _ of [1, 2, 3, 4]) assert.equal((await find(knowledge, OWN)).dense, false)
  broken.meaning = false
  assert.equal((await find(knowledge, OWN)).dense, true)
  await until(() => errors.length > 0)
  assert.deepEqual(
    errors.map(({ kind }) => kind),
    ['search_index.unreadable'],
  )
  assert.match(errors[0]?.stack ?? '', /Internal Server Error/)
})

test('while Meilisearch fails searches go by meaning, and where they cannot the caller is told to come again', async (t) => {
  const { knowledge, broken, errors, missing } = await onServers(t)
  broken.words = true
  const found = await find(knowledge, OWN)
  assert.deepEqual([found.dense, found.contents], [true, ['a fox']])
  const without = await find(knowledge)
  assert.equal(without.status, 503)
  assert.equal((without.body as { code: string }).code, 'search.unavailable')
  assert.match((without.body as { error: string }).error, /try again in a minute/)
  const change = { params: { org: 'org1' }, body: { mode: 'text' as const } }
  await knowledge.as(officer(1)).call(putKnowledgeSettings, change)
  assert.equal((await find(knowledge, OWN)).status, 503)
  await until(() => errors.length > 0)
  assert.equal(errors.length, 1)
  assert.match((await missing()).join(), /the search by words fails/)
  broken.words = false
  assert.deepEqual((await find(knowledge)).contents, ['a fox'])
  assert.deepEqual(await missing(), [])
})

test('an embedder that fails is told to the superadmin, that of an org to the org alone', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const knowledge = await testKnowledge(t, settings)
  const { errors, missing } = await opsOf(t, knowledge)
  await knowledge.as(member(1)).call(putSource, { params: { key: 'a' }, body: body('a fox') })
  world.broken = { status: 500, body: '' }
  for (const query of ['fox one', 'fox two', 'fox three'])
    assert.equal((await find(knowledge, { query })).dense, false)
  await until(() => errors.length > 0)
  assert.deepEqual([errors.length, errors[0]?.kind], [1, 'embeddings.failed'])
  assert.equal(errors[0]?.org_id, null)
  assert.match((await missing()).join(), /^search: the embedder fails since/)
  world.broken = undefined
  assert.equal((await find(knowledge)).dense, true)
  assert.deepEqual(await missing(), [])

  await knowledge.setSecrets(1, { embeddings_url: `${settings.EMBEDDINGS_URL}elsewhere` })
  await until(async () => {
    await find(knowledge, { query: 'fox four' })
    return errors.length > 1
  })
  assert.deepEqual([errors.length, errors[1]?.org_id], [2, 1])
  assert.deepEqual(await missing(), [])
})

test('what the embedder refuses of one org leaves it to the others', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const knowledge = await testKnowledge(t, settings)
  const { missing } = await opsOf(t, knowledge)
  await knowledge.as(member(1)).call(putSource, { params: { key: 'a' }, body: body('a fox') })
  world.refused = 'far too long'
  for (const _ of [1, 2, 3, 4]) {
    const refused = await find(knowledge, { query: world.refused })
    assert.deepEqual([refused.status, refused.dense], [200, false])
  }
  assert.deepEqual(await missing(), [])
  const began = performance.now()
  world.held = until(() => performance.now() - began > 700).then(() => undefined)
  assert.equal((await find(knowledge, { query: 'fox' })).dense, true)
})
