import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import {
  createMachineToken,
  deleteMachineToken,
  findMachineToken,
  findTokenLimits,
  listMachineTokens,
  MACHINE_TOKEN_PREFIX,
} from '@guildhall/contracts/tokens'
import { sha256 } from '../hash.ts'
import { officer, type TestAuth, testAuth } from '../testing.ts'

const DAY_MS = 86_400_000
const body = { name: 'agent', kind: 'agent' as const, scopes: ['knowledge:read' as const] }

async function made({ as, org }: TestAuth, more: object = {}) {
  const params = { org_id: String(org.id) }
  const reply = await as({ caller: officer(), org }).call(createMachineToken, {
    params,
    body: { ...body, ...more },
  })
  assert.ok(reply.status === 201, JSON.stringify(reply.body))
  return reply.body
}

/** What the gateway is told of a token. */
async function gatewayOf(t: Parameters<typeof busAs>[0], { settings }: TestAuth) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'gateway' })
  return async (token: string) =>
    (await ask(bus, findMachineToken, { sha256: sha256(token) })).token
}

test('a token is shown once, kept as a hash, and listed by its first characters', async (t) => {
  const auth = await testAuth(t)
  const { token, ...record } = await made(auth)
  assert.match(token, new RegExp(`^${MACHINE_TOKEN_PREFIX}[\\w-]{43}$`))
  assert.equal(record.display, token.slice(0, 11))
  const params = { org_id: String(auth.org.id) }
  const listed = await auth
    .as({ caller: officer(), org: auth.org })
    .call(listMachineTokens, { params })
  assert.ok(listed.status === 200)
  assert.deepEqual(listed.body.tokens, [record])
  const rows = JSON.stringify(await auth.db.selectFrom('machine_tokens').selectAll().execute())
  assert.ok(!rows.includes(token))
})

test('the gateway finds it with its org and scopes, and its use is noted at most once a minute', async (t) => {
  const auth = await testAuth(t)
  const find = await gatewayOf(t, auth)
  const { token, id } = await made(auth)
  const found = await find(token)
  assert.deepEqual([found?.id, found?.org.prefix, found?.scopes], [id, 'demo', ['knowledge:read']])
  const used = async () => {
    const row = await auth.db
      .selectFrom('machine_tokens')
      .select('last_used_at')
      .executeTakeFirstOrThrow()
    return row.last_used_at?.getTime() ?? 0
  }
  const first = await used()
  auth.clock.ahead = 30_000
  await find(token)
  assert.equal(await used(), first)
  auth.clock.ahead = 61_000
  await find(token)
  assert.ok((await used()) > first)
})

test('an expired, a deleted and an unknown token are none', async (t) => {
  const auth = await testAuth(t)
  const find = await gatewayOf(t, auth)
  const short = await made(auth, { expires_days: 1 })
  const gone = await made(auth)
  const params = { org_id: String(auth.org.id), token_id: gone.id }
  const client = auth.as({ caller: officer(), org: auth.org })
  assert.equal((await client.call(deleteMachineToken, { params })).status, 200)
  assert.equal((await client.call(deleteMachineToken, { params })).status, 404)
  assert.equal(await find(gone.token), null)
  assert.equal(await find('plat_unknown'), null)
  assert.ok(await find(short.token))
  auth.clock.ahead = DAY_MS + 1_000
  assert.equal(await find(short.token), null)
})

test('limits are kept as sent: a missing entry means none, an empty list nothing', async (t) => {
  const auth = await testAuth(t)
  const limits = {
    code_host: { repos: ['acme/*', 'acme/Site'], tools: [] },
    notes: { tools: ['page.?ead'] },
    podhost: {},
  }
  const { limits: kept, token, id } = await made(auth, { limits })
  assert.deepEqual(kept, limits)
  const find = await gatewayOf(t, auth)
  assert.deepEqual((await find(token))?.limits, limits)
  const compute = await busAs(t, { url: auth.settings.NATS_URL, peer: 'compute' })
  const asked = (org_id: number) => ask(compute, findTokenLimits, { org_id, id })
  assert.deepEqual(await asked(auth.org.id), { limits })
  assert.deepEqual(await asked(auth.org.id + 1), { limits: null })
  const none = await made(auth)
  assert.deepEqual(none.limits, {})
  const client = auth.as({ caller: officer(), org: auth.org })
  const params = { org_id: String(auth.org.id) }
  const listed = await client.call(listMachineTokens, { params })
  assert.ok(listed.status === 200)
  assert.deepEqual(
    listed.body.tokens.map((token) => token.limits),
    [{}, limits],
  )
})

test('without expires_days a token has no end', async (t) => {
  const auth = await testAuth(t)
  const find = await gatewayOf(t, auth)
  const { token, expires_at } = await made(auth)
  assert.equal(expires_at, null)
  auth.clock.ahead = 4_000 * DAY_MS
  assert.ok(await find(token))
})

test('limits of an unknown service are refused, for they would limit nothing', async (t) => {
  const { as, org, db } = await testAuth(t)
  const params = { org_id: String(org.id) }
  const limits = { githubb: { repos: ['acme/*'] } }
  const reply = await as({ caller: officer(), org }).call(createMachineToken, {
    params,
    body: { ...body, limits } as never,
  })
  assert.equal(reply.status, 400)
  assert.match(JSON.stringify(reply.body), /githubb/)
  assert.deepEqual(await db.selectFrom('machine_tokens').select('id').execute(), [])
})

test("another org's token is not found", async (t) => {
  const auth = await testAuth(t)
  const { id } = await made(auth)
  const rival = { ...auth.org, id: auth.org.id + 1 }
  const params = { org_id: String(rival.id), token_id: id }
  const reply = await auth
    .as({ caller: officer(), org: rival })
    .call(deleteMachineToken, { params })
  assert.equal(reply.status, 404)
})

for (const [what, more] of Object.entries({
  'an unknown scope': { scopes: ['knowledge:everything'] },
  'no scope': { scopes: [] },
  'an unknown kind': { kind: 'robot' },
  'no days': { expires_days: 0 },
  'days before today': { expires_days: -1 },
  'half a day': { expires_days: 0.5 },
  'an empty name': { name: '  ' },
  'limits of another kind': { limits: { code_host: { branches: ['main'] } } },
  'limits that the service does not have': { limits: { notes: { repos: ['a/b'] } } },
  'an empty glob': { limits: { code_host: { tools: [''] } } },
  'limits of another shape': { limits: { code_host: { repos: 'all' } } },
  'limits of more than 16 KiB': {
    limits: { code_host: { tools: Array(90).fill('x'.repeat(190)) } },
  },
})) {
  test(`${what} is refused with the place`, async (t) => {
    const { as, org } = await testAuth(t)
    const params = { org_id: String(org.id) }
    const reply = await as({ caller: officer(), org }).call(createMachineToken, {
      params,
      body: { ...body, ...more } as never,
    })
    assert.equal(reply.status, 400)
    assert.ok(reply.status === 400 && reply.body.details?.[0]?.path.startsWith('/body/'))
  })
}
