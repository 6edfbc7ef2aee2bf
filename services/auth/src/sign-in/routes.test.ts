import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exchange, login, loginCallback, SIGN_IN_COOKIE } from '@guildhall/contracts/auth'
import { people } from '@guildhall/sandbox/demo'
import { CALLER_HEADER, callerKey, signIdentity } from '@guildhall/service/caller-token'
import { type TestAuth, testAuth } from '../testing.ts'

/** Asks auth as the gateway would for a browser with these cookies. */
async function visit({ url, settings }: TestAuth, path: string, cookie = '') {
  const target = { service: 'auth' as const, method: 'GET', path }
  const identity = { caller: { kind: 'public' as const }, org: undefined, request_id: 'test' }
  const signed = signIdentity(identity, target, callerKey(settings.INTERNAL_KEY, 'auth'))
  return fetch(url + path, { redirect: 'manual', headers: { cookie, [CALLER_HEADER]: signed } })
}

/** Signs in on the sandbox's page; answers the callback's answer. */
async function signIn(
  auth: TestAuth,
  person: { id: string },
  { client = 'client', altered = {} as Record<string, string> } = {},
) {
  const begun = await visit(auth, `${login.url}?client=${client}`)
  assert.equal(begun.status, 302)
  const cookie = String(begun.headers.get('set-cookie')).split(';')[0]
  const page = new URL(begun.headers.get('location') ?? '')
  const form = { ...Object.fromEntries(page.searchParams), user_id: person.id }
  const agreed = await fetch(page, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams(form),
  })
  const back = new URL(agreed.headers.get('location') ?? '')
  for (const [name, value] of Object.entries(altered)) back.searchParams.set(name, value)
  return visit(auth, back.pathname + back.search, cookie)
}

const endOf = (response: Response) => new URL(response.headers.get('location') ?? '')

test('an officer ends at the client with a code that is exchanged once', async (t) => {
  const auth = await testAuth(t)
  const end = endOf(await signIn(auth, people.officer))
  assert.equal(end.origin + end.pathname, 'http://client.test/auth/')
  const code = end.searchParams.get('code') ?? ''
  const first = await auth.as({}).call(exchange, { body: { code } })
  assert.equal(first.status, 200)
  const second = await auth.as({}).call(exchange, { body: { code } })
  assert.deepEqual(
    [second.status, second.status === 400 && second.body.code],
    [400, 'code.invalid'],
  )
})

test('the dashboard has its own address', async (t) => {
  const auth = await testAuth(t)
  const end = endOf(await signIn(auth, people.officer, { client: 'dashboard' }))
  assert.equal(end.origin + end.pathname, 'http://dashboard.test/app/auth/')
})

test('of ten who send one code at once one gets a pair', async (t) => {
  const auth = await testAuth(t)
  const code = endOf(await signIn(auth, people.officer)).searchParams.get('code') ?? ''
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => auth.as({}).call(exchange, { body: { code } })),
  )
  assert.deepEqual(replies.map(({ status }) => status).sort(), [200, ...new Array(9).fill(400)])
})

test('a code older than a minute is refused', async (t) => {
  const auth = await testAuth(t)
  const exchanged = async (ahead: number) => {
    auth.clock.ahead = 0
    const code = endOf(await signIn(auth, people.officer)).searchParams.get('code') ?? ''
    auth.clock.ahead = ahead
    return (await auth.as({}).call(exchange, { body: { code } })).status
  }
  assert.deepEqual([await exchanged(50_000), await exchanged(60_001)], [200, 400])
})

test('the superadmin signs in without being an officer; a member and a stranger do not', async (t) => {
  const auth = await testAuth(t)
  assert.ok(endOf(await signIn(auth, people.superadmin)).searchParams.has('code'))
  for (const person of [people.member, people.stranger]) {
    const end = endOf(await signIn(auth, person))
    assert.match(end.searchParams.get('error') ?? '', /^Unauthorized access/)
    assert.ok(!end.searchParams.has('code'))
  }
})

test('officers of a deactivated org do not sign in', async (t) => {
  const auth = await testAuth(t)
  await auth.db.updateTable('orgs').set({ active: false }).execute()
  const end = endOf(await signIn(auth, people.officer))
  assert.match(end.searchParams.get('error') ?? '', /^Unauthorized access/)
  assert.ok(!end.searchParams.has('code'))
})

test('another state, no cookie and an altered cookie are refused without asking the platform', async (t) => {
  const auth = await testAuth(t)
  const altered = await signIn(auth, people.officer, { altered: { state: 'other' } })
  assert.match(endOf(altered).searchParams.get('error') ?? '', /not started here/)
  for (const cookie of ['', `${SIGN_IN_COOKIE}=garbage`]) {
    const end = endOf(await visit(auth, `${loginCallback.url}?code=x&state=y`, cookie))
    assert.match(end.searchParams.get('error') ?? '', /not started here/)
  }
})

test('a cancelled sign-in says so', async (t) => {
  const auth = await testAuth(t)
  const end = endOf(await signIn(auth, { id: '' }))
  assert.match(end.searchParams.get('error') ?? '', /cancelled/)
})

test('a code of the platform that does not fit the PKCE verifier is refused', async (t) => {
  const auth = await testAuth(t)
  const refused = await signIn(auth, people.officer, { altered: { code: 'stolen' } })
  assert.equal(refused.status, 302)
  const back = new URL(refused.headers.get('location') ?? '')
  assert.deepEqual([...back.searchParams.keys()], ['error'])
  assert.match(back.searchParams.get('error') ?? '', /did not accept this sign-in; start again/)
})

test('while the chat platform is away the callback answers 503', async (t) => {
  const auth = await testAuth(t)
  auth.world.faults.chat = 'down'
  assert.equal((await signIn(auth, people.officer)).status, 503)
})

test('without a bot token sign-in answers 503 and names the setting', async (t) => {
  const auth = await testAuth(t, { BOT_TOKEN: '' })
  const answer = await visit(auth, login.url)
  assert.equal(answer.status, 503)
  assert.match(((await answer.json()) as { error: string }).error, /set BOT_TOKEN/)
})
