import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type IntegrationKey,
  listIntegrations,
  putIntegration,
  testIntegration,
} from '@guildhall/contracts/integrations'
import { listSecrets } from '@guildhall/contracts/secrets'
import { listMachineTokens } from '@guildhall/contracts/tokens'
import { officer, type TestAuth, testAuth } from '../testing.ts'
import { outsideService } from './testing-outside.ts'

const KEY = 'the-right-key'

function clientOf({ as, org }: TestAuth) {
  const client = as({ caller: officer(), org })
  const params = (key: string) => ({ org: org.prefix, key })
  return {
    client,
    put: (key: string, fields: Record<string, string | null>) =>
      client.call(putIntegration, { params: params(key), body: { fields } }),
    async check(key: IntegrationKey) {
      const reply = await client.call(testIntegration, { params: params(key) })
      assert.ok(reply.status === 200, JSON.stringify(reply.body))
      return reply.body
    },
    async states() {
      const reply = await client.call(listIntegrations, { params: { org: org.prefix } })
      assert.ok(reply.status === 200)
      const pairs = reply.body.integrations.map(({ key, state }) => [key, state])
      return Object.fromEntries(pairs) as Record<IntegrationKey, string>
    },
  }
}

test("the state says whether the org's own keys count, the deployment's or none", async (t) => {
  const auth = await testAuth(t, { EMBEDDINGS_URL: 'http://embedder.test/v1' })
  const { put, states } = clientOf(auth)
  const none = 'not_connected'
  const before = { podhost: none, code_host: none, notes: none, calendar: none, renderer: none }
  assert.deepEqual(await states(), { ...before, embeddings: 'deployment_default', search: none })
  // a model alone is no connection of the org's own
  await put('embeddings', { embeddings_model: 'mine' })
  assert.equal((await states()).embeddings, 'deployment_default')
  const reply = await put('embeddings', { embeddings_url: 'https://mine.test/v1' })
  assert.ok(reply.status === 200)
  assert.equal(reply.body.state, 'connected')
  assert.deepEqual(
    reply.body.fields.map(({ name, secret, set }) => [name, secret, set]),
    [
      ['embeddings_url', false, true],
      ['embeddings_model', false, true],
      ['embeddings_api_key', true, false],
      ['embeddings_query_prefix', false, false],
    ],
  )
  await put('embeddings', { embeddings_url: null, embeddings_model: null })
  assert.equal((await states()).embeddings, 'deployment_default')
})

test('its fields are secrets of the org, and the audit line has only their names', async (t) => {
  const auth = await testAuth(t)
  const { put, client } = clientOf(auth)
  await put('renderer', { renderer_url: 'https://r.test', renderer_api_key: KEY })
  await put('renderer', { renderer_api_key: null })
  const listed = await client.call(listSecrets, { params: { org_id: String(auth.org.id) } })
  assert.ok(listed.status === 200)
  const set = listed.body.secrets.filter((one) => one.set).map(({ name }) => name)
  assert.deepEqual(set, ['renderer_url'])
  const lines = await auth.db.selectFrom('outbox').select('payload').orderBy('id').execute()
  const said = lines.map(({ payload }) => (payload as { details: object }).details)
  assert.deepEqual(said, [
    { key: 'renderer', stored: ['renderer_url', 'renderer_api_key'], deleted: [] },
    { key: 'renderer', stored: [], deleted: ['renderer_api_key'] },
  ])
})

test('unknown integrations and fields and wrong values are refused, and nothing is stored', async (t) => {
  const auth = await testAuth(t)
  const { put, states } = clientOf(auth)
  assert.equal((await put('nonsense', {})).status, 404)
  assert.equal((await put('constructor', {})).status, 404)
  const foreign = await put('podhost', { podhost_api_key: KEY, github_token: KEY })
  assert.ok(foreign.status === 400 && foreign.body.code === 'integration.unknown_field')
  assert.equal((await put('calendar', { google_service_account: KEY })).status, 400)
  assert.equal((await put('search', { search_service_url: 'nowhere' })).status, 400)
  assert.deepEqual([...new Set(Object.values(await states()))], ['not_connected'])
})

test('without SECRETS_KEY fields can be removed and not set', async (t) => {
  const { put } = clientOf(await testAuth(t, { SECRETS_KEY: '' }))
  const reply = await put('podhost', { podhost_api_key: KEY })
  assert.ok(reply.status === 503 && reply.body.code === 'secrets_key.unset')
  assert.equal((await put('podhost', { podhost_api_key: null })).status, 200)
})

for (const [key, field, path] of [
  ['podhost', 'podhost_api_key', '/pods'],
  ['code_host', 'github_token', '/user'],
  ['notes', 'notes_api_key', '/v1/users/me'],
] as const) {
  test(`the test of ${key} asks ${path} with the key and says in plain words what comes`, async (t) => {
    const outside = await outsideService(t, KEY)
    const { url } = outside
    const hosts = { PODHOST_API_URL: url, CODEHOST_API_URL: url, NOTES_API_URL: url }
    const auth = await testAuth(t, hosts)
    const { put, check } = clientOf(auth)
    assert.equal((await check(key)).ok, false)
    assert.equal(outside.asked.length, 0)

    await put(key, { [field]: KEY })
    assert.deepEqual(await check(key), { ok: true, message: 'It answers and accepts the key.' })
    assert.equal(outside.asked[0]?.path, path)
    assert.ok(outside.asked[0]?.headers['user-agent'])

    await put(key, { [field]: 'a-wrong-key' })
    const wrong = await check(key)
    assert.equal(wrong.ok, false)
    assert.match(wrong.message, /refuses the key \(401\)/)
    assert.ok(!wrong.message.includes('a-wrong-key'))

    await put(key, { [field]: KEY })
    outside.answer.status = 500
    assert.match((await check(key)).message, /answered 500/)
  })
}

test('an outside service that is away is named so, without its address', async (t) => {
  const away = 'http://127.0.0.1:1'
  const { put, check } = clientOf(
    await testAuth(t, { PODHOST_API_URL: away, SEARCH_SERVICE_URL: away }),
  )
  await put('podhost', { podhost_api_key: KEY })
  for (const key of ['podhost', 'search'] as const)
    assert.deepEqual(await check(key), { ok: false, message: 'It could not be reached.' })
})

test('a URL that an officer gave is asked on the public internet only', async (t) => {
  const { url, asked } = await outsideService(t, KEY)
  const { put, check } = clientOf(await testAuth(t))
  await put('renderer', { renderer_url: url })
  await put('embeddings', { embeddings_url: `${url}/v1`, embeddings_api_key: KEY })
  for (const key of ['renderer', 'embeddings'] as const) {
    const { ok, message } = await check(key)
    assert.equal(ok, false)
    assert.match(message, /not on the public internet/)
  }
  assert.equal(asked.length, 0)
})

test("the deployment's embedder is asked where the org has none, private address or not", async (t) => {
  const outside = await outsideService(t, KEY)
  const embedding = (length: number) =>
    JSON.stringify({ data: [{ index: 0, embedding: new Array(length).fill(0.5) }] })
  const settings = { EMBEDDINGS_URL: `${outside.url}/v1/`, EMBEDDINGS_API_KEY: KEY }
  const { check } = clientOf(await testAuth(t, settings))
  outside.answer.body = embedding(1024)
  assert.equal((await check('embeddings')).ok, true)
  assert.equal(outside.asked[0]?.path, '/v1/embeddings')
  outside.answer.body = embedding(384)
  assert.match((await check('embeddings')).message, /384 numbers instead of 1024/)
  outside.answer.body = 'no JSON'
  assert.equal((await check('embeddings')).ok, false)
})

test('of a calendar key only its parts are looked at', async (t) => {
  const { put, check } = clientOf(await testAuth(t))
  await put('calendar', { google_service_account: '{"client_email":"x@y.test"}' })
  assert.equal((await check('calendar')).ok, false)
  const private_key = '-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n'
  const whole = JSON.stringify({ client_email: 'x@y.test', private_key })
  await put('calendar', { google_service_account: whole })
  assert.equal((await check('calendar')).ok, true)
})

test('the list of machine tokens says which integrations the org has connected', async (t) => {
  const auth = await testAuth(t, { EMBEDDINGS_URL: 'http://embedder.test/v1' })
  const { put, client } = clientOf(auth)
  await put('podhost', { podhost_api_key: KEY })
  const listed = await client.call(listMachineTokens, { params: { org_id: String(auth.org.id) } })
  assert.ok(listed.status === 200)
  const { integrations } = listed.body
  const connected = integrations.filter((one) => one.connected)
  assert.deepEqual(connected, [
    {
      key: 'podhost',
      title: 'Pod hosting',
      connected: true,
      scopes: ['compute:connect', 'compute:manage', 'apps:deploy'],
      limits: ['tools'],
    },
  ])
  const codeHost = integrations.find(({ key }) => key === 'code_host')
  assert.deepEqual(codeHost?.limits, ['repos', 'tools'])
})
