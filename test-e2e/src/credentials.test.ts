import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { before, test } from 'node:test'
import { chatCallback } from '@guildhall/contracts/accounts'
import { createAppToken, listAppTokens } from '@guildhall/contracts/app-tokens'
import { getJwks, getName, loginCallback, logout, refresh, revoke } from '@guildhall/contracts/auth'
import { cliCallback } from '@guildhall/contracts/cli-tokens'
import { listSources } from '@guildhall/contracts/knowledge'
import { getOrg } from '@guildhall/contracts/orgs'
import { MEBIBYTE } from '@guildhall/contracts/route'
import { deleteMachineToken, whoami } from '@guildhall/contracts/tokens'
import { people } from '@guildhall/sandbox/demo'
import { until, wholeFile } from '@guildhall/service/testing'
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { bearer } from './people.ts'
import { type TestStack, testStack } from './stack.ts'

let stack: TestStack
let officer: { access_token: string; refresh_token: string }
const file = wholeFile()
before(async () => {
  stack = await testStack(file)
  officer = await stack.signIn(people.officer)
})

const statusOf = async (authorization?: string, url = stack.url) => {
  const headers = authorization === undefined ? {} : { authorization }
  const response = await fetch(`${url}/api/auth/name`, { headers })
  const { code } = (await response.json()) as { code?: string }
  return [response.status, code]
}

test('a good token is let in', async () => {
  const reply = await stack.as(officer.access_token).call(getName, {})
  assert.deepEqual(reply, { status: 200, body: { name: people.officer.username } })
})

for (const [what, authorization] of Object.entries({
  'no credential': undefined,
  'an empty one': '',
  'another scheme': 'Basic b2w6cHc=',
  'a scheme without a token': 'Bearer ',
  'two tokens': 'Bearer a b',
  'a malformed token': 'Bearer abc',
  'three empty parts': 'Bearer ..',
  'a machine token that nobody made': `Bearer plat_${'A'.repeat(43)}`,
})) {
  test(`${what} gets 401`, async () => {
    assert.deepEqual(await statusOf(authorization), [401, 'token.invalid'])
  })
}

test('forged tokens get 401: alg none, another key, HS256 with the public key, another kid, altered claims', async () => {
  const claims = decodeJwt(officer.access_token)
  const { kid = '' } = decodeProtectedHeader(officer.access_token)
  const jwks = await stack.as().call(getJwks, {})
  assert.ok(jwks.status === 200)
  const publicKey = createPublicKey({ key: jwks.body.keys[0] as never, format: 'jwk' })
  const pem = Buffer.from(publicKey.export({ type: 'spki', format: 'pem' }) as string)
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const signed = (alg: string, key: KeyObject | Uint8Array, kid: string) =>
    new SignJWT(claims).setProtectedHeader({ alg, kid }).sign(key)
  const [head, , signature] = officer.access_token.split('.')
  const altered = Buffer.from(
    JSON.stringify({ ...claims, chat_user_id: people.superadmin.id }),
  ).toString('base64url')
  const forged = {
    'alg none': new UnsecuredJWT(claims).encode(),
    'another key': await signed('RS256', other, kid),
    'HS256 with the public key': await signed('HS256', pem, kid),
    'another kid': await signed('RS256', other, 'unknown'),
    'altered claims': `${head}.${altered}.${signature}`,
  }
  for (const [what, token] of Object.entries(forged)) {
    assert.deepEqual([what, ...(await statusOf(`Bearer ${token}`))], [what, 401, 'token.invalid'])
  }
})

test('an expired token gets 403 in the header, and 401 once it was altered too', async (t) => {
  const late = await testStack(t, {}, () => new Date(Date.now() - 31 * 60_000))
  const { access_token } = await late.signIn(people.officer)
  const ask = async (token: string) => (await late.as(token).call(getName, {})).status
  assert.deepEqual(await statusOf(`Bearer ${access_token}`, late.url), [403, 'token.expired'])
  assert.equal(await ask(`${access_token.slice(0, -4)}AAAA`), 401)
})

test('a revoked token gets 401 within a second, and its refresh token is gone', async () => {
  const pair = await stack.signIn(people.officer)
  const client = stack.as(pair.access_token)
  assert.equal((await client.call(getName, {})).status, 200)
  assert.equal((await client.call(revoke, { body: {} })).status, 200)
  await until(async () => (await client.call(getName, {})).status === 401, 1_000)
  const again = await stack.as().call(refresh, { body: { refresh_token: pair.refresh_token } })
  assert.equal(again.status, 401)
})

test('logout is never refused', async () => {
  for (const token of [undefined, 'garbage', officer.access_token.slice(0, -3)]) {
    assert.equal((await stack.as(token).call(logout, { body: {} })).status, 200)
  }
})

/** What clients send along with a sign-out, and none of it is a body that can be read. */
const UNREADABLE: [type: string, body: string | ReadableStream][] = [
  ['application/json', ''],
  ['application/json', '{'],
  ['application/json', '{"refresh_token":"\\u0000"}'],
  ['application/json', '{"refresh_token":7}'],
  ['text/plain', 'goodbye'],
  ['application/x-www-form-urlencoded', 'a=b'],
  ['multipart/form-data; boundary=x', '--x'],
  ['no type at all', '{}'],
  ['application/json', 'x'.repeat(2 * MEBIBYTE)],
  ['application/json', new Blob(['x'.repeat(2 * MEBIBYTE)]).stream()],
]

test('logout ends the session whatever body comes with it', async () => {
  const logOut = (type: string, body: string | ReadableStream, token?: string) =>
    fetch(stack.url + logout.url, {
      method: logout.method,
      headers: { 'content-type': type, ...bearer(token) },
      body,
      duplex: 'half',
    })
  for (const [n, [type, body]] of UNREADABLE.entries()) {
    const { access_token } = await stack.signIn(people.officer)
    const reply = await logOut(type, body, access_token)
    assert.equal(reply.status, 200, `${n}: ${await reply.text()}`)
    const ended = async () => (await stack.as(access_token).call(getName, {})).status === 401
    await until(ended, 1_000)
  }
  assert.equal((await logOut('text/plain', 'x'.repeat(2 * MEBIBYTE))).status, 200)
})

test('an empty body that calls itself JSON is none where it may be left out, and is told of elsewhere', async () => {
  const { access_token } = await stack.signIn(people.officer)
  const send = async (url: string) => {
    const headers = { 'content-type': 'application/json', ...bearer(access_token) }
    const reply = await fetch(stack.url + url, { method: 'POST', headers, body: '' })
    return [reply.status, ((await reply.json()) as { code?: string }).code]
  }
  assert.deepEqual(await send(refresh.url), [400, 'request.not_json'])
  assert.deepEqual(await send(revoke.url), [200, undefined])
})

test('a GET that writes is no HEAD: nothing is made that nobody sees', async () => {
  const { access_token } = await stack.signIn(people.officer)
  const head = async (path: string) =>
    (await fetch(stack.url + path, { method: 'HEAD', headers: bearer(access_token) })).status
  assert.equal(await head(`${createAppToken.url}?appname=h`), 404)
  for (const { url } of [loginCallback, chatCallback, cliCallback])
    assert.equal(await head(`${url}?state=x&code=x`), 404, url)
  assert.equal(await head(getName.url), 200)
  const made = await stack.as(access_token).call(listAppTokens, {})
  assert.deepEqual(made, { status: 200, body: [] })
})

test("an officer of another org is refused by this one's routes, and a stranger everywhere", async () => {
  const rival = await stack.signIn(people.rivalOfficer)
  const mine = String(await stack.orgId(officer.access_token))
  const reply = await stack.as(rival.access_token).call(getOrg, { params: { org_id: mine } })
  assert.deepEqual(
    [reply.status, reply.status === 403 && reply.body.code],
    [403, 'access.not_org_officer'],
  )
})

test('a machine token opens its scopes only, in its org only, and no officer route', async () => {
  const reader = await stack.machineToken(officer.access_token, ['knowledge:read'])
  const client = stack.as(reader.token)
  const who = await client.call(whoami, {})
  assert.ok(who.status === 200)
  assert.deepEqual([who.body.org.prefix, who.body.scopes], ['demo', ['knowledge:read']])
  assert.equal((await client.call(listSources, {})).status, 200)
  const agents = await stack.machineToken(officer.access_token, ['agents:read'])
  const wrong = await stack.as(agents.token).call(listSources, {})
  assert.deepEqual(
    [wrong.status, wrong.status === 403 && wrong.body.code],
    [403, 'token.scope_missing'],
  )
  const officers = await client.call(getOrg, { params: { org_id: '1' } })
  assert.equal(officers.status, 401)
})

test('a deleted machine token gets 401 within a second', async () => {
  const { id, token } = await stack.machineToken(officer.access_token, ['knowledge:read'])
  const client = stack.as(token)
  assert.equal((await client.call(whoami, {})).status, 200)
  const org_id = String(await stack.orgId(officer.access_token))
  const params = { org_id, token_id: id }
  assert.equal(
    (await stack.as(officer.access_token).call(deleteMachineToken, { params })).status,
    200,
  )
  await until(async () => (await client.call(whoami, {})).status === 401, 1_000)
})

test('an internal header sent by a client is replaced, and never helps', async () => {
  const headers = { 'x-guildhall-caller': 'forged' }
  assert.equal((await fetch(`${stack.url}/api/auth/name`, { headers })).status, 401)
  const both = { ...headers, ...bearer(officer.access_token) }
  assert.equal((await fetch(`${stack.url}/api/auth/name`, { headers: both })).status, 200)
})
