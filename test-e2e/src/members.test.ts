import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  accountLinked,
  chatCallback,
  chatLogin,
  endSession,
  getMe,
  linkAccount,
  memberSignedIn,
  memberSignedOut,
} from '@guildhall/contracts/accounts'
import { logout } from '@guildhall/contracts/auth'
import { listAudit } from '@guildhall/contracts/ops'
import { accounts, people } from '@guildhall/sandbox/demo'
import { until, wholeFile } from '@guildhall/service/testing'
import { bearer, browse, memberSession } from './people.ts'
import { type TestStack, testStack } from './stack.ts'

let stack: TestStack
let origin: string
const file = wholeFile()
before(async () => {
  stack = await testStack(file)
  origin = new URL(String(stack.settings.CLIENT_URL)).origin
})

async function ask(
  { method, url }: { method: string; url: string },
  headers: Record<string, string>,
  body?: object,
) {
  const response = await fetch(stack.url + url, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer = (await response.json()) as Record<string, unknown>
  return { status: response.status, body: answer, headers: response.headers }
}
const codeOf = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, body.code]

test('a member signs in, is known by the cookie, and signs out', async () => {
  const { session, callback } = await memberSession(stack.url, people.member)
  assert.match(String(callback.headers.get('cache-control')), /no-store/)
  const [line] = callback.headers.getSetCookie().filter((one) => one.startsWith(session))
  assert.match(String(line), /Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/)
  const me = await ask(getMe, { cookie: session })
  assert.deepEqual(
    [me.status, me.body.chat_user_id, me.body.username, me.body.email],
    [200, people.member.id, people.member.username, null],
  )
  const out = await ask(endSession, { cookie: session, origin }, {})
  assert.equal(out.status, 200)
  assert.match(String(out.headers.get('set-cookie')), /Max-Age=0/)
  await until(async () => (await ask(getMe, { cookie: session })).status === 401, 1_000)
})

test('a sign-in returns to a page of an allowed origin and to no other', async () => {
  const page = `${origin}/profile?tab=1`
  assert.equal((await memberSession(stack.url, people.member, { next: page })).location, page)
  for (const next of ['https://evil.test/', '//evil.test', '/relative', 'javascript:alert(1)']) {
    const url = `${chatLogin.url}?${new URLSearchParams({ next })}`
    assert.deepEqual(codeOf(await ask({ method: 'GET', url }, {})), [400, 'sign_in.next'])
  }
})

test('each sign-in has a new session, and the one that the browser had is over', async () => {
  const first = await memberSession(stack.url, people.member)
  const second = await memberSession(stack.url, people.member, { had: first.session })
  assert.notEqual(first.session, second.session)
  await until(async () => (await ask(getMe, { cookie: first.session })).status === 401, 1_000)
  assert.equal((await ask(getMe, { cookie: second.session })).status, 200)
})

test('a callback that was not begun here starts no session', async () => {
  const { back } = await browse(stack.url, people.member, { path: chatLogin.url })
  const stolen = await fetch(back, { redirect: 'manual' })
  const end = new URL(stolen.headers.get('location') ?? '')
  assert.match(String(end.searchParams.get('error')), /not started here/)
  assert.ok(!stolen.headers.getSetCookie().some((one) => /^guildhall_session=./.test(one)))
})

test('forged, cut and foreign sessions get 401, and an Authorization header hides the cookie', async () => {
  const { session } = await memberSession(stack.url, people.member)
  const [secret = '', signature = ''] = session.split('=')[1]?.split('.') ?? []
  for (const value of [
    secret,
    `${secret}.`,
    `${secret}.${'A'.repeat(43)}`,
    `.${signature}`,
    'x'.repeat(5_000),
  ])
    assert.deepEqual(codeOf(await ask(getMe, { cookie: `guildhall_session=${value}` })), [
      401,
      'session.invalid',
    ])
  const value = session.split('=')[1]
  for (const cookie of [
    `__Host-guildhall_session=${value}`,
    `guildhall___Host-session=${value}`,
    `guildhall_session=${secret}; ${session}`,
  ])
    assert.deepEqual(codeOf(await ask(getMe, { cookie })), [401, 'session.invalid'], cookie)
  const { access_token } = await stack.signIn(people.officer)
  const both = await ask(getMe, { cookie: session, ...bearer(access_token) })
  assert.equal(both.status, 401)
})

test('a write with the cookie needs an allowed Origin', async () => {
  const { session } = await memberSession(stack.url, people.member)
  const headers = [{}, { origin: 'https://evil.test' }, { origin: 'null' }]
  for (const more of headers)
    assert.deepEqual(codeOf(await ask(endSession, { cookie: session, ...more }, {})), [
      403,
      'origin.not_allowed',
    ])
  const foreign = await ask(logout, { cookie: session, origin: 'https://evil.test' }, {})
  assert.equal(foreign.status, 200)
  assert.equal((await ask(getMe, { cookie: session })).status, 200, 'still signed in')
  assert.equal((await ask(logout, { cookie: session, origin }, {})).status, 200)
  await until(async () => (await ask(getMe, { cookie: session })).status === 401, 1_000)
})

test('an identity account is linked once, by either side, and the audit log tells', async () => {
  const { session } = await memberSession(stack.url, people.member)
  const link = async (cookie: string, subject: string, claims = {}) =>
    ask(
      linkAccount,
      { cookie, origin },
      {
        identity_token: await stack.sandbox.identityToken(subject, claims),
      },
    )
  assert.deepEqual(codeOf(await link(session, accounts.unverified.id)), [
    403,
    'identity.email_unverified',
  ])
  const both = await Promise.all([
    link(session, accounts.member.id),
    link(session, accounts.member.id),
  ])
  for (const { status, body } of both)
    assert.deepEqual([status, body.email], [200, accounts.member.email])
  assert.equal((await ask(getMe, { cookie: session })).body.email, accounts.member.email)
  const other = await memberSession(stack.url, people.officer)
  for (const [cookie, subject] of [
    [other.session, accounts.member.id],
    [session, accounts.officer.id],
  ] as const)
    assert.deepEqual(codeOf(await link(cookie, subject)), [409, 'account.linked_elsewhere'])

  const superadmin = stack.as((await stack.signIn(people.superadmin)).access_token)
  const actions = await until(async () => {
    const reply = await superadmin.call(listAudit, {
      query: { actor: people.member.id, limit: '500' },
    })
    assert.ok(reply.status === 200)
    const found = reply.body.entries.map(({ action }) => action)
    return found.includes(accountLinked.action) && found
  })
  assert.equal(actions.filter((action) => action === accountLinked.action).length, 1)
  for (const { action } of [memberSignedIn, memberSignedOut]) assert.ok(actions.includes(action))
})

test('the sign-in of members answers 503 while the chat platform is away', async (t) => {
  stack.sandbox.world.faults.chat = 'down'
  t.after(() => {
    stack.sandbox.world.faults.chat = undefined
  })
  const login = await fetch(stack.url + chatLogin.url, { redirect: 'manual' })
  const state = new URL(login.headers.get('location') ?? '').searchParams.get('state')
  const cookie = login.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const url = `${chatCallback.url}?${new URLSearchParams({ code: 'any', state: String(state) })}`
  assert.deepEqual(codeOf(await ask({ method: 'GET', url }, { cookie })), [503, 'chat.unavailable'])
})
