import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { chatCallback, chatLogin } from '@guildhall/contracts/accounts'
import {
  exchange,
  login,
  loginCallback,
  refresh,
  revoke,
  SIGN_IN_REFUSED,
} from '@guildhall/contracts/auth'
import { cliCallback, cliLogin } from '@guildhall/contracts/cli-tokens'
import { pathOf } from '@guildhall/contracts/client'
import { getOrg, listOrgs } from '@guildhall/contracts/orgs'
import type { Route } from '@guildhall/contracts/route'
import { people } from '@guildhall/sandbox/demo'
import { until, wholeFile } from '@guildhall/service/testing'
import { bearer, cliToken, memberSession } from './people.ts'
import { gatewayOf, type TestStack, testStack } from './stack.ts'

let stack: TestStack
const file = wholeFile()
before(async () => {
  stack = await testStack(file)
})

test('a prefix in DISABLED_ROUTES is the same 404 as an unknown path, however it is spelled', async (t) => {
  const { url, signIn } = await gatewayOf(t, stack, {
    DISABLED_ROUTES: '/api/organizations/,/api/auth/name,/docs',
  })
  const headers = bearer((await signIn(people.officer)).access_token)
  const paths = [
    '/api/organizations',
    '/api/organizations/',
    '/api/organizations/1',
    '/api/%6frganizations/1',
    '/api/auth/name',
    '/docs',
    '/docs/',
    '/%64ocs/',
    '/docs?x=%',
    '/api/nothing',
  ]
  for (const path of paths) {
    const response = await fetch(url + path, { headers })
    assert.deepEqual(
      [path, response.status, await response.text()],
      [path, 404, '{"error":"Not found","code":"route.not_found"}'],
    )
  }
  assert.equal((await fetch(`${url}/api/auth/validToken`, { headers })).status, 200)
})

test('in report mode a denied officer gets through, and never a denied superadmin', async (t) => {
  const { url, as, signIn, orgId } = await gatewayOf(t, stack, { ACCESS_ENFORCE: 'false' })
  const officer = (await signIn(people.officer)).access_token
  const rival = (await signIn(people.rivalOfficer)).access_token
  const params = { org_id: String(await orgId(officer)) }
  assert.equal((await as(rival).call(getOrg, { params })).status, 200)
  const superadmins = await fetch(`${url}/api/superadmin/audit`, { headers: bearer(rival) })
  assert.deepEqual(
    [superadmins.status, ((await superadmins.json()) as { code: string }).code],
    [403, 'access.not_superadmin'],
  )
})

test('a credential past its requests a minute gets 429 with Retry-After, and only that credential', async (t) => {
  const { as, url, signIn } = await gatewayOf(t, stack, { RATE_CREDENTIAL_PER_MINUTE: '5' })
  const officer = (await signIn(people.officer)).access_token
  const rival = (await signIn(people.rivalOfficer)).access_token
  const statuses = []
  for (let i = 0; i < 6; i++) statuses.push((await as(officer).call(listOrgs, {})).status)
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429])
  const refused = await fetch(`${url}/api/organizations`, { headers: bearer(officer) })
  assert.ok(Number(refused.headers.get('retry-after')) >= 1)
  assert.equal((await as(rival).call(listOrgs, {})).status, 200)
})

test('an address with too many refused credentials gets 429, and its requests without one go on', async (t) => {
  const { url } = await gatewayOf(t, stack, { RATE_FAILED_SIGN_INS_PER_MINUTE: '3' })
  const attempt = async (i: number) =>
    (await fetch(`${url}/api/auth/name`, { headers: bearer(`guess${i}`) })).status
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push(await attempt(i))
  assert.deepEqual(statuses, [401, 401, 401, 429])
  assert.equal((await fetch(`${url}/health`)).status, 200)
})

test('refused one-time codes and refresh tokens count as refused credentials', async (t) => {
  const limits = { RATE_FAILED_SIGN_INS_PER_MINUTE: '3' }
  const guess = async (url: string, { method, url: path }: typeof exchange | typeof refresh) => {
    const body = JSON.stringify({ code: 'guess', refresh_token: 'guess' })
    const headers = { 'content-type': 'application/json' }
    return (await fetch(url + path, { method, headers, body })).status
  }
  for (const [route, refused] of [
    [exchange, 400],
    [refresh, 401],
  ] as const) {
    const { url, signIn } = await gatewayOf(t, stack, limits)
    const statuses = []
    for (let n = 0; n < 4; n++) statuses.push(await guess(url, route))
    assert.deepEqual(statuses, [refused, refused, refused, 429])
    const other = route === exchange ? refresh : exchange
    assert.equal(await guess(url, other), 429, 'they count together')
    await assert.rejects(signIn(people.officer), 'nor is a good code taken from there')
  }
})

test('refused callbacks of every sign-in count as refused credentials, also many at once', async (t) => {
  const { url, orgId, signIn, sandbox } = await testStack(t, {
    RATE_FAILED_SIGN_INS_PER_MINUTE: '4',
  })
  await orgId((await signIn(people.officer)).access_token) // good ones count for nothing
  await memberSession(url, people.member)
  await cliToken(url, people.member)
  const spent = () => sandbox.chatRequests.get('POST /oauth2/token') ?? 0
  const before = spent()
  assert.equal(before, 3)
  const begun = async (path: string) => {
    const { headers } = await fetch(url + path, { redirect: 'manual' })
    const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? assert.fail()
    const state = new URL(headers.get('location') ?? '').searchParams.get('state')
    return { cookie, query: `?${new URLSearchParams({ state: String(state), code: 'junk' })}` }
  }
  const cli = pathOf(cliLogin, { params: { org: 'demo' } })
  const [officers, members, clis] = [
    await begun(login.url),
    await begun(chatLogin.url),
    await begun(cli),
  ]
  const junk = async ({ url: path }: Route, { cookie, query }: typeof officers) => {
    const reply = await fetch(url + path + query, { headers: { cookie }, redirect: 'manual' })
    assert.equal(reply.headers.has(SIGN_IN_REFUSED), false, 'that is between auth and the gateway')
    return reply.status
  }
  const statuses = [
    await junk(loginCallback, officers),
    await junk(chatCallback, members),
    await junk(cliCallback, clis),
  ]
  assert.deepEqual(statuses, [302, 302, 400])
  const many = await Promise.all(Array.from({ length: 20 }, () => junk(loginCallback, officers)))
  assert.deepEqual(many.sort(), [302, ...Array(19).fill(429)])
  assert.equal(spent() - before, 4, 'what is refused by the count asks the chat platform nothing')
})

test("a revoked token spends nothing of its owner's", async (t) => {
  const limits = { RATE_CREDENTIAL_PER_MINUTE: '100', RATE_FAILED_SIGN_INS_PER_MINUTE: '0' }
  const { as, url, signIn } = await gatewayOf(t, stack, limits)
  const leaked = (await signIn(people.officer)).access_token
  assert.equal((await as(leaked).call(revoke, { body: {} })).status, 200)
  const ask = async (token: string) =>
    (await fetch(`${url}/api/auth/name`, { headers: bearer(token) })).status
  await until(async () => (await ask(leaked)) === 401)
  const statuses = await Promise.all(Array.from({ length: 120 }, () => ask(leaked)))
  assert.ok(statuses.every((status) => status === 401))
  assert.equal(await ask((await signIn(people.officer)).access_token), 200)
})

test('TRUST_PROXY decides whose address counts; a forged hop in front does not help', async (t) => {
  const limits = { RATE_ADDRESS_PER_MINUTE: '2' }
  const proxied = await gatewayOf(t, stack, { ...limits, TRUST_PROXY: '1' })
  const direct = await gatewayOf(t, stack, limits)
  const networks = await gatewayOf(t, stack, { ...limits, TRUST_PROXY: '127.0.0.0/8' })
  const ask = async ({ url }: { url: string }, forwarded: string) =>
    (await fetch(`${url}/openapi.json`, { headers: { 'x-forwarded-for': forwarded } })).status
  for (const gateway of [proxied, networks]) {
    assert.deepEqual(
      [await ask(gateway, '192.0.2.1'), await ask(gateway, '198.51.100.9, 192.0.2.1')],
      [200, 200],
    )
    assert.equal(await ask(gateway, '203.0.113.5, 192.0.2.1'), 429)
    assert.equal(await ask(gateway, '192.0.2.2'), 200)
  }
  const statuses = []
  for (const n of [1, 2, 3]) statuses.push(await ask(direct, `192.0.2.${n}`))
  assert.deepEqual(statuses, [200, 200, 429])
})

test('unknown paths and the reference count for the address, the probes do not', async (t) => {
  const { url } = await gatewayOf(t, stack, { RATE_ADDRESS_PER_MINUTE: '3' })
  const statuses = []
  for (const path of ['/nothing', '/openapi.json', '/docs/', '/nothing', '/openapi.json', '/docs/'])
    statuses.push((await fetch(url + path)).status)
  assert.deepEqual(statuses, [404, 200, 200, 429, 429, 429])
  for (const path of ['/health', '/ready'])
    for (let i = 0; i < 5; i++) assert.notEqual((await fetch(url + path)).status, 429)
})

test('refused requests count as much as granted ones, and bad credentials lock out no good one', async (t) => {
  const limits = {
    RATE_MACHINE_PER_MINUTE: '5',
    RATE_ADDRESS_PER_MINUTE: '40',
    RATE_FAILED_SIGN_INS_PER_MINUTE: '3',
  }
  const { url, signIn, machineToken } = await gatewayOf(t, stack, limits)
  const officer = (await signIn(people.officer)).access_token
  const { token } = await machineToken(officer, ['agents:read'])
  const statusOf = async (path: string, credential: string) =>
    (await fetch(url + path, { headers: bearer(credential) })).status
  const several = async (count: number, path: (i: number) => string, credential: string) => {
    const statuses = []
    for (let i = 0; i < count; i++) statuses.push(await statusOf(path(i), credential))
    return statuses
  }
  const bad = await several(4, () => '/api/auth/name', 'junk')
  assert.deepEqual(bad, [401, 401, 401, 429])
  assert.equal(await statusOf('/api/auth/name', officer), 200)
  const scopeless = await several(6, () => '/api/knowledge/sources', token)
  assert.deepEqual(scopeless, [403, 403, 403, 403, 403, 429])
  const guesses = await several(40, (i) => `/api/organizations/${i + 100}/modules`, 'junk')
  assert.ok(guesses.includes(429), 'unknown orgs count for the address')
})
