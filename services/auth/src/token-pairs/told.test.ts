import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { endSession, SESSION_COOKIE } from '@guildhall/contracts/accounts'
import { findSigningKeys, getJwks, logout, refresh } from '@guildhall/contracts/auth'
import { changed } from '@guildhall/contracts/event'
import { people } from '@guildhall/sandbox/demo'
import { clientAs, until } from '@guildhall/service/testing'
import { insertSession } from '../accounts/sessions.ts'
import { callerOf, type TestAuth, testAuth } from '../testing.ts'
import { loggedAuth } from '../testing-app.ts'
import { toldGateways } from '../testing-told.ts'
import { issuePair } from './issue.ts'
import { GRACE_MS } from './routes.ts'

/** A member's session and its cookie. */
async function newSession({ db, settings }: TestAuth) {
  const secret = { secretKey: settings.SECRET_KEY, now: new Date() }
  const value = await db.transaction().execute((trx) => insertSession(trx, people.member, secret))
  const { id } = await db.selectFrom('member_sessions').select('id').executeTakeFirstOrThrow()
  return { id, cookie: `${SESSION_COOKIE}=${value}` }
}

test('gateways are told of a session that a logout ended', async (t) => {
  const auth = await testAuth(t)
  const told = await toldGateways(t, auth, changed.session)
  const { id, cookie } = await newSession(auth)
  const browser = clientAs(auth.url, auth.settings.INTERNAL_KEY, {}, { cookie })
  assert.equal((await browser.call(logout, { body: {} })).status, 200)
  await until(() => told.includes(id), 1_000)
})

test('gateways are told of a session that its member ended', async (t) => {
  const auth = await testAuth(t)
  const told = await toldGateways(t, auth, changed.session)
  const { id } = await newSession(auth)
  const { chat_user_id, username } = callerOf(people.member)
  const caller = { kind: 'session' as const, chat_user_id, username, session_id: id }
  assert.equal((await auth.as({ caller }).call(endSession, { body: {} })).status, 200)
  await until(() => told.includes(id), 1_000)
})

test('the revocations of a refresh token that was used twice are sent without waiting', async (t) => {
  const auth = await loggedAuth(t)
  const deps = { signer: auth.signer, now: () => new Date() }
  const pair = await auth.db.transaction().execute((trx) => issuePair(trx, deps, people.officer))
  const use = () => auth.as({}).call(refresh, { body: { refresh_token: pair.refresh_token } })
  assert.equal((await use()).status, 200)
  auth.clock.ahead = GRACE_MS + 1_000
  let written = 0
  auth.bus.outbox.on('written', () => written++)
  assert.equal((await use()).status, 401)
  assert.equal(written, 1)
})

test('the public keys are read for everybody at once every few seconds, and for gateways each time', async (t) => {
  const auth = await testAuth(t)
  const gateway = await busAs(t, { url: auth.settings.NATS_URL, peer: 'gateway' })
  const published = async () => (await auth.as({}).call(getJwks, {})).body
  const before = await published()
  await auth.db.deleteFrom('signing_keys').execute()
  assert.deepEqual(await published(), before)
  assert.deepEqual(await ask(gateway, findSigningKeys, {}), { keys: [] })
})
