import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import {
  chatCallback,
  chatLogin,
  findSession,
  MEMBER_SIGN_IN_COOKIE,
  SESSION_COOKIE,
} from '@guildhall/contracts/accounts'
import { people } from '@guildhall/sandbox/demo'
import { CALLER_HEADER, callerKey, signIdentity } from '@guildhall/service/caller-token'
import { type TestAuth, testAuth } from '../testing.ts'

const DAY_MS = 86_400_000

/** Asks auth as the gateway would for a browser with these cookies. */
async function visit({ url, settings }: TestAuth, path: string, cookie = '') {
  const target = { service: 'auth' as const, method: 'GET', path }
  const identity = { caller: { kind: 'public' as const }, org: undefined, request_id: 'test' }
  const signed = signIdentity(identity, target, callerKey(settings.INTERNAL_KEY, 'auth'))
  return fetch(url + path, { redirect: 'manual', headers: { cookie, [CALLER_HEADER]: signed } })
}

/** Begins a sign-in: the browser's cookie, and where the chat platform sends it once the member agreed. */
async function begun(auth: TestAuth) {
  const login = await visit(auth, chatLogin.url)
  assert.equal(login.status, 302)
  const cookie = String(login.headers.get('set-cookie')).split(';')[0] ?? ''
  const page = new URL(login.headers.get('location') ?? '')
  const form = { ...Object.fromEntries(page.searchParams), user_id: people.member.id }
  const body = new URLSearchParams(form)
  const agreed = await fetch(page, { method: 'POST', redirect: 'manual', body })
  return { cookie, back: new URL(agreed.headers.get('location') ?? '') }
}

/** The value of the session cookie that an answer sets, if it sets one. */
const sessionIn = ({ headers }: Response) =>
  headers
    .getSetCookie()
    .map((line) => new RegExp(`^${SESSION_COOKIE}=([^;]+)`).exec(line)?.[1])
    .find((value) => value !== undefined)

async function signedIn(auth: TestAuth) {
  const { cookie, back } = await begun(auth)
  const value = sessionIn(await visit(auth, back.pathname + back.search, cookie))
  assert.ok(value)
  return value
}

/** What the gateway is told of a session so many days from now. */
async function gatewayOf(t: Parameters<typeof busAs>[0], { settings, clock }: TestAuth) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'gateway' })
  return async (value: string, days: number) => {
    clock.ahead = days * DAY_MS
    return (await ask(bus, findSession, { value })).session?.chat_user_id
  }
}

test("another sign-in's state does not count with the cookie of this one", async (t) => {
  const auth = await testAuth(t)
  const mine = await begun(auth)
  const other = await begun(auth)
  // the attacker's code in the browser of somebody who has begun a sign-in of their own
  const crossed = await visit(auth, other.back.pathname + other.back.search, mine.cookie)
  const altered = new URL(mine.back)
  altered.searchParams.set('state', 'other')
  const missing = new URL(mine.back)
  missing.searchParams.delete('state')
  const answers = [
    crossed,
    await visit(auth, altered.pathname + altered.search, mine.cookie),
    await visit(auth, missing.pathname + missing.search, mine.cookie),
  ]
  for (const answer of answers) {
    const end = new URL(answer.headers.get('location') ?? '')
    assert.match(String(end.searchParams.get('error')), /not started here/)
    assert.equal(sessionIn(answer), undefined)
  }
  assert.deepEqual(await auth.db.selectFrom('member_sessions').selectAll().execute(), [])
  assert.ok(sessionIn(await visit(auth, mine.back.pathname + mine.back.search, mine.cookie)))
})

test('no cookie, a garbled one and one of the officers sign nobody in', async (t) => {
  const auth = await testAuth(t)
  const { back, cookie } = await begun(auth)
  const value = cookie.split('=')[1] ?? ''
  for (const sent of ['', `${MEMBER_SIGN_IN_COOKIE}=garbage`, `guildhall_sign_in=${value}`]) {
    const answer = await visit(auth, `${chatCallback.url}${back.search}`, sent)
    const end = new URL(answer.headers.get('location') ?? '')
    assert.match(String(end.searchParams.get('error')), /not started here/)
    assert.equal(sessionIn(answer), undefined)
  }
})

test('a session that is used lasts 30 days and no longer', async (t) => {
  const auth = await testAuth(t)
  const find = await gatewayOf(t, auth)
  const value = await signedIn(auth)
  for (const day of [6, 12, 18, 24, 29.9]) assert.equal(await find(value, day), people.member.id)
  assert.equal(await find(value, 30.1), undefined)
})

test('a session that nobody uses ends after 7 days', async (t) => {
  const auth = await testAuth(t)
  const find = await gatewayOf(t, auth)
  const value = await signedIn(auth)
  assert.equal(await find(value, 6.9), people.member.id)
  assert.equal(await find(value, 13.8), people.member.id)
  assert.equal(await find(value, 20.9), undefined)
})
