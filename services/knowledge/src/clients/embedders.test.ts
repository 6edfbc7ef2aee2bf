import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '@guildhall/bus/testing'
import { getSource, putSource, search } from '@guildhall/contracts/knowledge'
import { getKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import { AppError } from '@guildhall/service/errors'
import { until } from '@guildhall/service/testing'
import { createLegs } from '../search/legs.ts'
import { testKnowledge } from '../testing.ts'
import { body, member, officer, vectorAt, vectorBody } from '../testing-bodies.ts'
import { testEmbedder } from '../testing-embedder.ts'
import { createEmbedders } from './embedders.ts'

const leg = createLegs(quietLog).embedder

type Client = ReturnType<Awaited<ReturnType<typeof testKnowledge>>['as']>

async function modelOf(client: Client, key: string) {
  const reply = await client.call(getSource, { params: { key } })
  assert.ok(reply.status === 200)
  return reply.body.source.version?.embedding_model
}

async function dense(client: Client, query = 'fox') {
  const reply = await client.call(search, { body: { query } })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body.dense
}

test("an org's own embedder replaces the deployment's as a whole, for writes and for searches", async (t) => {
  const shared = await testEmbedder(t)
  const own = await testEmbedder(t)
  const secret = { EMBEDDINGS_API_KEY: 'shared', EMBEDDINGS_QUERY_PREFIX: 'query: ' }
  const { as, setSecrets } = await testKnowledge(t, { ...shared.settings, ...secret })
  await setSecrets(2, {
    embeddings_url: own.settings.EMBEDDINGS_URL,
    embeddings_model: 'mine',
    embeddings_api_key: 'k2',
    embeddings_query_prefix: 'ask: ',
  })
  const [alpha, beta] = [as(member(1)), as(member(2))]
  for (const client of [alpha, beta]) {
    await client.call(putSource, { params: { key: 'a' }, body: body('fox') })
    assert.equal(await dense(client), true)
  }
  assert.deepEqual([await modelOf(alpha, 'a'), await modelOf(beta, 'a')], ['words', 'mine'])
  const asked = (input: string[], authorization: string, model: string) => ({
    model,
    input,
    authorization: `Bearer ${authorization}`,
  })
  assert.deepEqual(own.world.asked, [
    asked(['fox'], 'k2', 'mine'),
    asked(['ask: fox'], 'k2', 'mine'),
  ])
  assert.deepEqual(shared.world.asked, [
    asked(['fox'], 'shared', 'words'),
    asked(['query: fox'], 'shared', 'words'),
  ])

  await setSecrets(2, { embeddings_url: own.settings.EMBEDDINGS_URL })
  await until(async () => {
    await dense(beta)
    return own.world.asked.at(-1)?.model === 'default'
  })
  own.world.broken = { status: 500, body: '' }
  const failed = await beta.call(putSource, { params: { key: 'b' }, body: body('fox') })
  assert.ok(failed.status === 502 && failed.body.code === 'embeddings.failed')
  assert.equal((await beta.call(getSource, { params: { key: 'b' } })).status, 404)
  assert.equal(await dense(beta, 'other'), false)
  const last = own.world.asked.at(-1)
  assert.deepEqual([last?.authorization, last?.input], [undefined, ['other']])
})

test('a query is asked once of each embedder, model and prefix', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const secrets = { embeddings_url: settings.EMBEDDINGS_URL, embeddings_model: 'm1' }
  const { as, setSecrets } = await testKnowledge(t)
  for (const org of [1, 2]) await setSecrets(org, secrets)
  await dense(as(member(1)))
  await dense(as(member(1)))
  await dense(as(member(2)))
  assert.equal(world.asked.length, 1)
  await setSecrets(2, { ...secrets, embeddings_query_prefix: 'q: ' })
  await until(async () => {
    await dense(as(member(2)))
    return world.asked.length === 2
  })
  await dense(as(member(1)))
  assert.equal(world.asked.length, 2)
})

test('an address that is not public is refused: writes say so, searches go by text', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const secretsOf = async () => ({ embeddings_url: settings.EMBEDDINGS_URL })
  const config = { EMBEDDINGS_MODEL: 'default', EMBEDDINGS_QUERY_PREFIX: '' } as const
  const without = {
    EMBEDDINGS_URL: undefined,
    EMBEDDINGS_API_KEY: undefined,
    EMBEDDINGS_WEIGHT: 1,
    ...config,
  }
  const embedderOf = createEmbedders({ config: without, secretsOf, guard: {}, log: quietLog, leg })
  const embedder = await embedderOf(1)
  assert.ok(embedder)
  await assert.rejects(embedder.passages(['fox']), {
    kind: 'upstream',
    code: 'embeddings.not_allowed',
    message: /127\.0\.0\.1 is not on the public internet/,
  })
  assert.equal(await embedder.query('fox'), undefined)
  assert.equal(world.asked.length, 0)
})

test('while auth does not answer searches go by text and writes wait, but those with vectors of their own', async (t) => {
  const { settings } = await testEmbedder(t)
  const { as, auth } = await testKnowledge(t, settings)
  await auth[Symbol.asyncDispose]()
  const alpha = as(member(1))
  const own = vectorBody('m1', ['fox', 0])
  assert.equal((await alpha.call(putSource, { params: { key: 'a' }, body: own })).status, 201)
  assert.equal(await dense(alpha), false)
  const mine = { query: 'fox', embedding: vectorAt(0), embedding_model: 'm1' }
  const found = await alpha.call(search, { body: mine })
  assert.ok(found.status === 200 && found.body.dense)

  const put = await alpha.call(putSource, { params: { key: 'b' }, body: body('fox') })
  assert.ok(put.status === 503)
  assert.equal(put.body.code, 'embeddings.unknown')
  assert.equal((await alpha.call(getSource, { params: { key: 'b' } })).status, 404)
  const shown = await as(officer(1)).call(getKnowledgeSettings, { params: { org: 'org1' } })
  assert.equal(shown.status, 503)
})

test('who cannot be told which embedder the org has is told when to try again', async () => {
  const config = { EMBEDDINGS_MODEL: 'default', EMBEDDINGS_QUERY_PREFIX: '' } as const
  const none = {
    EMBEDDINGS_URL: undefined,
    EMBEDDINGS_API_KEY: undefined,
    EMBEDDINGS_WEIGHT: 1,
    ...config,
  }
  const secretsOf = () => Promise.reject(new AppError('unavailable', 'auth.unreachable', 'gone'))
  const embedderOf = createEmbedders({ config: none, secretsOf, guard: {}, log: quietLog, leg })
  await assert.rejects(embedderOf(1), { code: 'embeddings.unknown', retryAfter: 5 })
  const open = createEmbedders({
    config: none,
    secretsOf: async () => ({}),
    guard: {},
    log: quietLog,
    leg,
  })
  assert.equal(await open(1), undefined)
})

test('orgs share the embedder of the deployment, and never one of their own', async () => {
  const config = {
    EMBEDDINGS_URL: 'http://127.0.0.1:1/v1',
    EMBEDDINGS_MODEL: 'default',
    EMBEDDINGS_QUERY_PREFIX: '',
    EMBEDDINGS_API_KEY: undefined,
    EMBEDDINGS_WEIGHT: 1,
  }
  const of = (secrets: object) =>
    createEmbedders({ config, secretsOf: async () => secrets, guard: {}, log: quietLog, leg })
  const [shared, own] = [of({}), of({ embeddings_url: 'https://embed.test/v1' })]
  assert.equal(await shared(1), await shared(2))
  assert.equal(await own(1), await own(1))
  assert.notEqual(await own(1), await own(2))
})
