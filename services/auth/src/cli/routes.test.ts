import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { SIGN_IN_REFUSED } from '@guildhall/contracts/auth'
import { cliCallback, cliLogin, cliLogout } from '@guildhall/contracts/cli-tokens'
import { changed } from '@guildhall/contracts/event'
import { findMachineToken } from '@guildhall/contracts/tokens'
import { people } from '@guildhall/sandbox/demo'
import { CALLER_HEADER, callerKey, signIdentity } from '@guildhall/service/caller-token'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { sha256 } from '../hash.ts'
import { type TestAuth, testAuth } from '../testing.ts'
import { toldGateways } from '../testing-told.ts'

const DAY_MS = 86_400_000

/** As the gateway would, with what a browser sends. */
function get({ url, settings, org }: TestAuth, path: string, cookie = '') {
  const target = { service: 'auth', method: 'GET', path } as const
  const identity = { caller: { kind: 'public' as const }, org, request_id: 'test' }
  const signed = signIdentity(identity, target, callerKey(settings.INTERNAL_KEY, 'auth'))
  const headers = { [CALLER_HEADER]: signed, cookie }
  return fetch(url + path, { redirect: 'manual', headers })
}

/** Walks through the sign-in up to the page that it ends at; `change` spoils the way back. */
async function signInCli(
  auth: TestAuth,
  person: { id: string },
  change: (query: URLSearchParams) => void = () => {},
) {
  const login = await get(auth, cliLogin.url.replace(':org', 'demo'))
  assert.equal(login.status, 302)
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  const form = new URL(login.headers.get('location') ?? '').searchParams
  form.set('user_id', person.id)
  const consent = await fetch(auth.settings.CHAT_AUTHORIZE_URL, {
    method: 'POST',
    redirect: 'manual',
    body: form,
  })
  const query = new URL(consent.headers.get('location') ?? '').searchParams
  change(query)
  const page = await get(auth, `${cliCallback.url}?${query}`, cookie)
  const text = await page.text()
  const type = page.headers.get('content-type')
  const refused = page.headers.has(SIGN_IN_REFUSED)
  return { status: page.status, type, refused, text, token: /plat_[\w-]{43}/.exec(text)?.[0] ?? '' }
}

async function gatewayOf(t: Parameters<typeof busAs>[0], { settings }: TestAuth) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'gateway' })
  return async (token: string) =>
    (await ask(bus, findMachineToken, { sha256: sha256(token) })).token
}

test('a member is shown a token once, which is theirs in this org for 90 days', async (t) => {
  const auth = await testAuth(t, { COMPUTE_CLI_NAME: '<b>club' })
  const find = await gatewayOf(t, auth)
  const { status, text, token } = await signInCli(auth, people.member)
  assert.equal(status, 200)
  assert.ok(text.startsWith('<!doctype html>') && text.includes('&#60;b&#62;club'))
  const found = await find(token)
  assert.deepEqual(
    [found?.kind, found?.scopes, found?.org.prefix],
    ['cli', ['compute:connect'], 'demo'],
  )
  const { id: chat_user_id, username } = people.member
  assert.deepEqual(found?.member, { chat_user_id, username })
  auth.clock.ahead = 90 * DAY_MS - 60_000
  assert.ok(await find(token))
  auth.clock.ahead = 90 * DAY_MS + 1
  assert.equal(await find(token), null)
})

test('a new sign-in ends the token before, and of ten at once one token counts', async (t) => {
  const auth = await testAuth(t)
  const find = await gatewayOf(t, auth)
  const first = await signInCli(auth, people.member)
  const other = await signInCli(auth, people.officer)
  const second = await signInCli(auth, people.member)
  assert.deepEqual([await find(first.token), (await find(second.token))?.kind], [null, 'cli'])
  assert.ok(await find(other.token))
  auth.world.chatLimit = { requests: 1_000, seconds: 1 }
  const ten = await Promise.all(Array.from({ length: 10 }, () => signInCli(auth, people.member)))
  const found = await Promise.all(ten.map(({ token }) => find(token)))
  assert.equal(found.filter((token) => token !== null).length, 1)
})

test('gateways are told of the token that a new sign-in, and a sign-out, ended', async (t) => {
  const auth = await testAuth(t)
  const find = await gatewayOf(t, auth)
  const told = await toldGateways(t, auth, changed.machineToken)
  const first = await find((await signInCli(auth, people.member)).token)
  const second = await find((await signInCli(auth, people.member)).token)
  assert.ok(first && second)
  await until(() => told.includes(first.id), 1_000)
  const { id: chat_user_id, username } = people.member
  const caller = { kind: 'member' as const, chat_user_id, username, session_id: newId() }
  await auth.as({ caller, org: auth.org }).call(cliLogout, { params: { org: 'demo' } })
  await until(() => told.includes(second.id), 1_000)
  assert.deepEqual(told, [first.id, second.id])
})

test('who is no member, came without our state or where compute is off gets a page and no token', async (t) => {
  const auth = await testAuth(t)
  const stranger = await signInCli(auth, people.stranger)
  assert.deepEqual([stranger.status, stranger.token, stranger.refused], [403, '', true])
  const forged = await signInCli(auth, people.member, (query) => query.set('state', 'x'))
  assert.deepEqual([forged.status, forged.token, forged.refused], [400, '', true])
  const wrong = await signInCli(auth, people.member, (query) => query.set('code', 'x'))
  assert.deepEqual([wrong.status, wrong.token, wrong.refused], [400, '', true])
  const cancelled = await signInCli(auth, people.member, (query) => query.delete('code'))
  assert.deepEqual([cancelled.status, cancelled.token, cancelled.refused], [400, '', false])
  await auth.db
    .updateTable('orgs')
    .set({ modules_off: ['compute'] })
    .execute()
  const off = await signInCli(auth, people.member)
  assert.deepEqual([off.status, off.token], [404, ''])
  assert.deepEqual(await auth.db.selectFrom('machine_tokens').selectAll().execute(), [])
})

test('while the chat platform is away the browser shows a page that says so', async (t) => {
  const auth = await testAuth(t)
  const away = await signInCli(auth, people.member, () => {
    auth.world.faults.chat = 'down'
  })
  assert.deepEqual([away.status, away.type, away.refused], [503, 'text/html; charset=utf-8', false])
  assert.match(away.text, /^<!doctype html>.*does not answer; try again.*start again with/)
})

test('without CLIENT_ID it says what to set', async (t) => {
  const auth = await testAuth(t, { CLIENT_ID: '' })
  const login = await get(auth, cliLogin.url.replace(':org', 'demo'))
  assert.equal(login.status, 503)
  assert.match(await login.text(), /CLIENT_ID/)
})

test('a member ends the token of their own CLI and of nobody else', async (t) => {
  const auth = await testAuth(t)
  const find = await gatewayOf(t, auth)
  const [mine, other] = [
    await signInCli(auth, people.member),
    await signInCli(auth, people.officer),
  ]
  const { id: chat_user_id, username } = people.member
  const caller = { kind: 'member' as const, chat_user_id, username, session_id: newId() }
  const logout = () =>
    auth.as({ caller, org: auth.org }).call(cliLogout, { params: { org: 'demo' } })
  assert.deepEqual((await logout()).body, { deleted: true })
  assert.deepEqual((await logout()).body, { deleted: false })
  assert.equal(await find(mine.token), null)
  assert.equal((await find(other.token))?.kind, 'cli')
})
