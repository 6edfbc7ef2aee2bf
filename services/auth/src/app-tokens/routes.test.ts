import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { createAppToken, deleteAppToken, listAppTokens } from '@guildhall/contracts/app-tokens'
import {
  AccessClaims,
  decideAccess,
  getJwks,
  isRevoked,
  logout,
  REVOKED_BUCKET,
} from '@guildhall/contracts/auth'
import { listOrgs } from '@guildhall/contracts/orgs'
import { people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { Kvm } from '@nats-io/kv'
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose'
import { sql } from 'kysely'
import { callerOf, signedIn, type TestAuth, testAuth } from '../testing.ts'
import { MOST_APP_TOKENS } from './routes.ts'

const DAY_MS = 86_400_000

const make = ({ as }: TestAuth, person = people.officer, appname = 'signage') =>
  as({ caller: signedIn(person) }).call(createAppToken, { query: { appname } })

/** The claims of a new app token. */
async function made(auth: TestAuth, person = people.officer) {
  const reply = await make(auth, person)
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  const claims = AccessClaims.parse(decodeJwt(reply.body.app_token))
  return { ...claims, token: reply.body.app_token }
}

/** The caller that the gateway makes of an app token. */
const appOf = ({ jti, exp }: { jti: string; exp: number }, person = people.officer) => ({
  caller: { kind: 'platform' as const, type: 'app' as const, ...callerOf(person, jti, exp) },
})

async function listed({ as }: TestAuth, person = people.officer) {
  const reply = await as({ caller: signedIn(person) }).call(listAppTokens, {})
  assert.ok(reply.status === 200)
  return reply.body
}

const remove = ({ as }: TestAuth, id: string, person = people.officer) =>
  as({ caller: signedIn(person) }).call(deleteAppToken, { params: { id } })

test('an app token is a JWT of 120 days and of type app, for whoever made it', async (t) => {
  const auth = await testAuth(t)
  const { token, jti, type, chat_user_id, username, iat, exp } = await made(auth)
  assert.deepEqual([type, chat_user_id, username], ['app', people.officer.id, 'olivia'])
  assert.equal((exp - iat) * 1000, 120 * DAY_MS)
  const keys = await auth.as({}).call(getJwks, {})
  assert.ok(keys.status === 200)
  await jwtVerify(token, createLocalJWKSet(keys.body as JSONWebKeySet), { algorithms: ['RS256'] })
  const [first, ...others] = await listed(auth)
  assert.deepEqual(others, [])
  assert.deepEqual([first?.id, first?.app_name], [jti, 'signage'])
  assert.equal(Date.parse(first?.expires_at ?? ''), exp * 1000)
  assert.deepEqual(await listed(auth, people.rivalOfficer), [])
  const rows = JSON.stringify(await auth.db.selectFrom('app_tokens').selectAll().execute())
  assert.ok(!rows.includes(token))
})

test('deleting one revokes it for every gateway within a second', async (t) => {
  const auth = await testAuth(t)
  const { jti, exp } = await made(auth)
  const gateway = await busAs(t, { url: auth.settings.NATS_URL, peer: 'gateway' })
  const entries = await (await new Kvm(gateway.js).open(REVOKED_BUCKET)).watch()
  const heard = (async () => {
    for await (const entry of entries) if (entry.key === jti) return entry
    return undefined
  })()
  assert.equal((await remove(auth, jti, people.rivalOfficer)).status, 404)
  assert.deepEqual((await remove(auth, jti)).body, { deleted: true })
  const deleted = performance.now()
  const entry = await heard
  assert.ok(performance.now() - deleted < 1_000)
  assert.deepEqual(entry?.json(), { exp })
  assert.deepEqual(await ask(gateway, isRevoked, { jti }), { revoked: true })
  assert.deepEqual(await listed(auth), [])
  assert.equal((await remove(auth, jti)).status, 404)
})

test('an app token neither makes nor lists nor revokes app tokens, also when just revoked', async (t) => {
  const auth = await testAuth(t)
  const app = await made(auth)
  const client = auth.as(appOf(app))
  const replies = async () => [
    await client.call(createAppToken, { query: { appname: 'more' } }),
    await client.call(listAppTokens, {}),
    await client.call(deleteAppToken, { params: { id: app.jti } }),
  ]
  for (const { status, body } of await replies())
    assert.deepEqual([status, 'code' in body && body.code], [403, 'app_token.not_allowed'])
  assert.equal((await remove(auth, app.jti)).status, 200)
  for (const { status } of await replies()) assert.equal(status, 401)
})

test('one that logged itself out is no longer listed', async (t) => {
  const auth = await testAuth(t)
  const app = await made(auth)
  assert.equal((await auth.as(appOf(app)).call(logout, { body: {} })).status, 200)
  assert.deepEqual(await listed(auth), [])
})

test('of ten asking at once for the last one free one succeeds, and ended ones make room', async (t) => {
  const auth = await testAuth(t)
  for (let i = 1; i < MOST_APP_TOKENS; i++) await made(auth)
  const replies = await Promise.all(Array.from({ length: 10 }, () => make(auth)))
  assert.deepEqual(replies.map(({ status }) => status).sort(), [200, ...new Array(9).fill(409)])
  assert.equal((await listed(auth)).length, MOST_APP_TOKENS)
  assert.equal((await make(auth, people.rivalOfficer)).status, 200)
  auth.clock.ahead = 120 * DAY_MS + 1_000
  assert.deepEqual(await listed(auth), [])
  assert.equal((await make(auth)).status, 200)
})

test('a name has 1 to 100 characters', async (t) => {
  const auth = await testAuth(t)
  for (const appname of ['', '  ', 'x'.repeat(101)])
    assert.equal((await make(auth, people.officer, appname)).status, 400)
  assert.equal((await make(auth, people.officer, 'x'.repeat(100))).status, 200)
})

test("the superadmin's app token is nobody's but their own: no org, no access", async (t) => {
  const auth = await testAuth(t)
  const app = await made(auth, people.superadmin)
  const orgs = await auth.as(appOf(app, people.superadmin)).call(listOrgs, {})
  assert.deepEqual(orgs.status === 200 && orgs.body.organizations, [])
  const gateway = await busAs(t, { url: auth.settings.NATS_URL, peer: 'gateway' })
  const decide = async ({ id }: { id: string }) => {
    const args = { chat_user_id: id, org_id: auth.org.id, type: app.type }
    const { allowed, superadmin } = await ask(gateway, decideAccess, args)
    return { allowed, superadmin }
  }
  assert.deepEqual(await decide(people.superadmin), { allowed: false, superadmin: false })
  assert.deepEqual(await decide(people.officer), { allowed: true, superadmin: false })
})

test('making and revoking are audited by name', async (t) => {
  const auth = await testAuth(t)
  const { jti } = await made(auth)
  await remove(auth, jti)
  const rows = await auth.db.selectFrom('outbox').select('payload').orderBy('created_at').execute()
  const lines = rows.map(({ payload }) => payload as { action?: string; details?: object })
  const details = { app_token_id: jti, app_name: 'signage' }
  for (const action of ['auth.app_token.created', 'auth.app_token.revoked'])
    assert.deepEqual(lines.find((line) => line.action === action)?.details, details, action)
})

test('an app token waits for nobody who holds the table of the keys', async (t) => {
  const auth = await testAuth(t)
  await auth.db.transaction().execute(async (trx) => {
    await sql`lock table signing_keys in exclusive mode`.execute(trx)
    let status: number | undefined
    void make(auth).then((reply) => {
      status = reply.status
    })
    await until(() => status === 200, 5_000)
  })
})
