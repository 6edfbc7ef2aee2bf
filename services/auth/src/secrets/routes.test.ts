import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import {
  deleteSecret,
  findSecrets,
  listSecrets,
  putSecret,
  secrets,
} from '@guildhall/contracts/secrets'
import { AppError } from '@guildhall/service/errors'
import { readConfig } from '../config.ts'
import { start } from '../main.ts'
import { officer, type TestAuth, testAuth } from '../testing.ts'

const VALUE = 'sk-very-secret-value'

function clientOf({ as, org }: TestAuth) {
  const client = as({ caller: officer(), org })
  const params = (name: string) => ({ org_id: String(org.id), name })
  return {
    put: (name: string, value: string) =>
      client.call(putSecret, { params: params(name), body: { value } }),
    remove: (name: string) => client.call(deleteSecret, { params: params(name) }),
    list: async () => {
      const reply = await client.call(listSecrets, { params: { org_id: String(org.id) } })
      assert.ok(reply.status === 200)
      return reply.body.secrets
    },
  }
}

/** What a service is told. */
async function readerOf(
  t: Parameters<typeof busAs>[0],
  { settings, org }: TestAuth,
  peer: 'knowledge' | 'ops' = 'knowledge',
) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer })
  return async (...names: string[]) =>
    (await ask(bus, findSecrets(peer), { org_id: org.id, names })).secrets
}

const outbox = async ({ db }: TestAuth) =>
  JSON.stringify(await db.selectFrom('outbox').selectAll().execute())

test('every declared secret is listed, set or not, and those under a prefix once they are set', async (t) => {
  const auth = await testAuth(t)
  const { put, list, remove } = clientOf(auth)
  const none = await list()
  assert.deepEqual(
    none.map(({ name }) => name),
    Object.keys(secrets),
  )
  assert.ok(none.every(({ set, updated_at, updated_by }) => !set && !updated_at && !updated_by))

  assert.equal((await put('github_token', VALUE)).status, 201)
  assert.equal((await put('github_token', `${VALUE}2`)).status, 200)
  assert.equal((await put('app_database', 'two\nlines')).status, 201)
  const set = (await list()).filter((one) => one.set)
  assert.deepEqual(
    set.map(({ name, updated_by }) => [name, updated_by]),
    [
      ['github_token', officer().chat_user_id],
      ['app_database', officer().chat_user_id],
    ],
  )
  assert.equal((await remove('app_database')).status, 200)
  assert.equal((await remove('app_database')).status, 404)
  assert.equal((await list()).length, none.length)
})

test('a value stands in no answer, no audit line and, unsealed, in no table', async (t) => {
  const auth = await testAuth(t)
  const { put, list } = clientOf(auth)
  const said = [
    await put('podhost_api_key', VALUE),
    await put('podhost_api_key', VALUE),
    await list(),
  ]
  assert.ok(!JSON.stringify(said).includes(VALUE))
  const lines = await outbox(auth)
  assert.ok(lines.includes('auth.secret.stored') && lines.includes('podhost_api_key'))
  assert.ok(!lines.includes(VALUE))
  const rows = JSON.stringify(await auth.db.selectFrom('secrets').selectAll().execute())
  assert.ok(rows.includes('v1.') && !rows.includes(VALUE))
})

for (const [what, name, value, status] of [
  ['an unknown name', 'nonsense', VALUE, 404],
  ['a prefix alone', 'app_', VALUE, 404],
  ['a name of Object', 'constructor', VALUE, 404],
  ['nothing but spaces', 'github_token', '  ', 400],
  ['more than 16 KiB', 'app_x', 'ü'.repeat(8 * 1024 + 1), 400],
  ['a key with a line break', 'github_token', 'a\nb', 400],
  ['a URL of another kind', 'embeddings_url', 'ftp://x.test', 400],
  ['an account that is no JSON', 'google_service_account', VALUE, 400],
  ['an account that is a JSON list', 'google_service_account', '[1]', 400],
] as const) {
  test(`${what} is refused, without quoting the value`, async (t) => {
    const auth = await testAuth(t)
    const reply = await clientOf(auth).put(name, value)
    assert.equal(reply.status, status)
    assert.ok(value.length < 3 || !JSON.stringify(reply.body).includes(value.trim() || 'no value'))
  })
}

test('exactly 16 KiB are taken, and trimmed', async (t) => {
  const auth = await testAuth(t)
  const { put } = clientOf(auth)
  assert.equal((await put('embeddings_query_prefix', ` ${'x'.repeat(16 * 1024)}\n`)).status, 201)
  const read = await readerOf(t, auth)
  const { embeddings_query_prefix } = await read('embeddings_query_prefix')
  assert.equal(embeddings_query_prefix?.length, 16 * 1024)
})

test('of ten who set one secret at once one makes it, and one value stays', async (t) => {
  const auth = await testAuth(t)
  const { put } = clientOf(auth)
  const values = Array.from({ length: 10 }, (_, n) => `value-${n}`)
  const replies = await Promise.all(values.map((value) => put('embeddings_api_key', value)))
  assert.deepEqual(
    replies.map(({ status }) => status).sort(),
    [...Array<number>(9).fill(200), 201].sort(),
  )
  const { embeddings_api_key } = await (await readerOf(t, auth))('embeddings_api_key')
  assert.ok(values.includes(embeddings_api_key ?? ''))
})

test('of ten who add the two hundredth secret at once one succeeds', async (t) => {
  const auth = await testAuth(t)
  const { put } = clientOf(auth)
  const rest = { org_id: auth.org.id, sealed_value: 'x', updated_at: new Date(), updated_by: '1' }
  const rows = Array.from({ length: 199 }, (_, n) => ({ ...rest, name: `app_${n}` }))
  await auth.db.insertInto('secrets').values(rows).execute()
  const replies = await Promise.all(Array.from({ length: 10 }, (_, n) => put(`app_new${n}`, VALUE)))
  const made = replies.filter(({ status }) => status === 201)
  assert.equal(made.length, 1)
  const refused = replies.filter((reply) => reply.status === 409)
  assert.equal(refused.length, 9)
})

test('a service is told the values declared for it and no others', async (t) => {
  const auth = await testAuth(t)
  const { put } = clientOf(auth)
  await put('embeddings_api_key', VALUE)
  await put('github_token', VALUE)
  await put('error_webhook_url', 'https://chat.test/hook')
  const knowledge = await readerOf(t, auth)
  assert.deepEqual(await knowledge('embeddings_api_key', 'embeddings_url'), {
    embeddings_api_key: VALUE,
  })
  const ops = await readerOf(t, auth, 'ops')
  assert.deepEqual(await ops('error_webhook_url'), { error_webhook_url: 'https://chat.test/hook' })
  const refused = (error: unknown) =>
    error instanceof AppError && error.code === 'secret.other_reader'
  await assert.rejects(knowledge('github_token'), refused)
  await assert.rejects(ops('embeddings_api_key'), refused)
  await assert.rejects(knowledge('embeddings_api_key', 'app_x'), refused)
  await auth.db.updateTable('orgs').set({ active: false }).execute()
  await assert.rejects(ops('error_webhook_url'), { kind: 'not_found' })
})

test('a row moved to another name or org does not open', async (t) => {
  const auth = await testAuth(t)
  await clientOf(auth).put('embeddings_api_key', VALUE)
  await auth.db.updateTable('secrets').set({ name: 'embeddings_model' }).execute()
  const read = await readerOf(t, auth)
  await assert.rejects(read('embeddings_model'), { code: 'sealed.unopenable' })
})

test('a new key in front seals, and the old one still opens what it sealed', async (t) => {
  const auth = await testAuth(t)
  const { settings } = auth
  await clientOf(auth).put('embeddings_api_key', VALUE)
  const again = async (SECRETS_KEY: string) => {
    const later = await start(readConfig({ ...settings, SECRETS_KEY }))
    return { close: () => later[Symbol.asyncDispose]() }
  }
  // the first auth leaves the work to the one with both keys
  await auth.stop()
  const both = await again(`${'44'.repeat(32)},${settings.SECRETS_KEY}`)
  const read = await readerOf(t, auth)
  assert.deepEqual(await read('embeddings_api_key'), { embeddings_api_key: VALUE })
  await both.close()
  const newOnly = await again('44'.repeat(32))
  await assert.rejects(read('embeddings_api_key'), { code: 'sealed.unopenable' })
  await newOnly.close()
})

test('without SECRETS_KEY nothing is set, and the list still answers', async (t) => {
  const auth = await testAuth(t, { SECRETS_KEY: '' })
  const { put, list } = clientOf(auth)
  const reply = await put('github_token', VALUE)
  assert.ok(reply.status === 503 && reply.body.code === 'secrets_key.unset')
  assert.ok((await list()).every(({ set }) => !set))
  const knowledge = await busAs(t, { url: auth.settings.NATS_URL, peer: 'knowledge' })
  const asked = { org_id: auth.org.id, names: ['embeddings_url'] }
  assert.deepEqual(await ask(knowledge, findSecrets('knowledge'), asked), { secrets: {} })
})

test('a malformed SECRETS_KEY is a fault of the settings', async (t) => {
  const { settings } = await testAuth(t)
  assert.throws(() => readConfig({ ...settings, SECRETS_KEY: 'short' }), /SECRETS_KEY: key 1/)
})
