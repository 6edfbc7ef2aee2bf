import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { before, test } from 'node:test'
import { putModules } from '@guildhall/contracts/orgs'
import { routes } from '@guildhall/contracts/routes'
import { urlOf } from '@guildhall/gateway/config'
import { people } from '@guildhall/sandbox/demo'
import { until, wholeFile } from '@guildhall/service/testing'
import { bearer } from './people.ts'
import { type TestStack, testStack } from './stack.ts'

const NOT_FOUND = '{"error":"Not found","code":"route.not_found"}'

let stack: TestStack
let officer: string
let agent: string
const file = wholeFile()
before(async () => {
  stack = await testStack(file)
  officer = (await stack.signIn(people.officer)).access_token
  agent = (await stack.machineToken(officer, ['knowledge:read', 'knowledge:write'])).token
})

/** Sends a path as it is: fetch would fold dots and slashes. */
async function send(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
) {
  const { hostname, port } = new URL(stack.url)
  const outgoing = request({ hostname, port, method, path, headers })
  outgoing.end(body)
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) }
}

for (const path of [
  '/api/nothing',
  '/api//auth/name',
  '//api/auth/name',
  '/API/auth/name',
  '/api/Auth/Name',
  '/api/auth%2Fname',
  '/api/auth/../auth/name',
  '/api/%2e%2e/api/auth/name',
  '/api/auth/./name',
  '/api/auth/name/x',
  '/metrics',
]) {
  test(`${path} is the same 404 as any unknown path`, async () => {
    const answer = await send('GET', path, bearer(officer))
    assert.deepEqual([answer.status, answer.body], [404, NOT_FOUND])
  })
}

test('a trailing slash changes nothing, an escaped letter is that letter, and a bad escape is refused', async () => {
  assert.equal((await send('GET', '/api/auth/name/', bearer(officer))).status, 200)
  assert.equal((await send('GET', '/api/%61uth/name', bearer(officer))).status, 200)
  assert.equal((await send('GET', '/api/auth/%zz', bearer(officer))).status, 400)
})

test('dots and empty parts in a source key are refused, escaped or not', async () => {
  for (const key of ['a/../b', 'a/%2e%2e/b', 'a%2F..%2Fb', 'a//b', '.hidden']) {
    const { status, body } = await send('GET', `/api/knowledge/sources/${key}`, bearer(agent))
    assert.deepEqual([key, status, JSON.parse(body).code], [key, 400, 'request.invalid'])
  }
  const nul = await send('GET', '/api/knowledge/sources/%00', bearer(agent))
  assert.deepEqual([nul.status, JSON.parse(nul.body).code], [400, 'request.nul'])
})

test('a DELETE whose client calls its missing body JSON is heard', async () => {
  const headers = { ...bearer(agent), 'content-type': 'application/json' }
  const reply = await send('DELETE', '/api/knowledge/sources/nothing', headers)
  assert.equal(reply.status, 404)
})

test('a module that is off looks like no route', async () => {
  const params = { org_id: String(await stack.orgId(officer)) }
  const client = stack.as(officer)
  assert.equal(
    (await client.call(putModules, { params, body: { modules: { knowledge: false } } })).status,
    200,
  )
  const off = () => send('GET', '/api/knowledge/sources', bearer(agent))
  await until(async () => (await off()).body === NOT_FOUND, 2_000)
  assert.equal(
    (await client.call(putModules, { params, body: { modules: { knowledge: true } } })).status,
    200,
  )
  await until(async () => (await off()).status === 200, 2_000)
})

test('bodies that are not JSON, of another type, empty or not matching are refused with what is wrong', async () => {
  const json = { ...bearer(agent), 'content-type': 'application/json' }
  const post = (body: string, headers = json) =>
    send('POST', '/api/knowledge/search', headers, body)
  const coded = async (answer: ReturnType<typeof post>) => {
    const { status, body } = await answer
    return [status, JSON.parse(body).code]
  }
  assert.deepEqual(await coded(post('{"query":')), [400, 'request.not_json'])
  assert.deepEqual(await coded(post('query=x', { ...json, 'content-type': 'text/plain' })), [
    415,
    'request.media_type',
  ])
  assert.deepEqual(await coded(post('[]')), [400, 'request.invalid'])
  const missing = await post('{"top_k": 51}')
  const { details } = JSON.parse(missing.body) as { details: { path: string }[] }
  assert.deepEqual(details.map(({ path }) => path).sort(), ['/body/query', '/body/top_k'])
  assert.deepEqual(await coded(post('{"__proto__": {"x": 1}, "query": "x"}')), [
    400,
    'request.reserved_key',
  ])
})

test('a body over the limit of its route is 413, told by its length or not', async () => {
  const headers = { ...bearer(agent), 'content-type': 'application/json' }
  const big = JSON.stringify({ query: 'x'.repeat(1024 * 1024) })
  const told = await send(
    'POST',
    '/api/knowledge/search',
    { ...headers, 'content-length': String(big.length) },
    big,
  )
  assert.deepEqual([told.status, JSON.parse(told.body).code], [413, 'request.too_large'])
  const chunked = await send(
    'POST',
    '/api/knowledge/search',
    { ...headers, 'transfer-encoding': 'chunked' },
    big,
  )
  assert.deepEqual([chunked.status, JSON.parse(chunked.body).code], [413, 'request.too_large'])
})

test('answers carry security headers and a request id, and those with credentials are not stored', async () => {
  const { headers } = await send('GET', '/api/auth/name', bearer(officer))
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.match(String(headers['x-request-id']), /^[0-9a-f-]{36}$/)
  const login = await send('GET', '/api/auth/login')
  assert.equal(login.headers['cache-control'], 'no-store')
  assert.match(String(login.headers['set-cookie']), /HttpOnly; SameSite=Lax/)
})

test('only allowed origins may read answers', async () => {
  const origin = new URL(stack.sandbox.clientUrl).origin
  const allowed = await send('OPTIONS', '/api/auth/exchange', {
    origin,
    'access-control-request-method': 'POST',
  })
  assert.equal(allowed.headers['access-control-allow-origin'], origin)
  const other = await send('GET', '/health', { origin: 'https://evil.example' })
  assert.equal(other.headers['access-control-allow-origin'], undefined)
})

test('a page of this machine may speak MCP, and read nothing else', async () => {
  const asked = { 'access-control-request-method': 'POST' }
  for (const [origin, path, allowed] of [
    ['http://localhost:6274', '/mcp', true],
    ['http://127.0.0.1:6274', '/mcp', true],
    ['http://localhost.evil.example', '/mcp', false],
    ['http://localhost:6274', '/api/tools', false],
    [new URL(stack.sandbox.clientUrl).origin, '/mcp', true],
  ] as const) {
    const { headers } = await send('OPTIONS', path, { origin, ...asked })
    const expected = allowed ? origin : undefined
    assert.equal(headers['access-control-allow-origin'], expected, `${origin} ${path}`)
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const json = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const spoken = await send('POST', '/mcp', { ...bearer(agent), ...json, origin }, message)
    if (path === '/mcp') assert.equal(spoken.status, allowed ? 200 : 403, origin)
  }
})

test('the OpenAPI document has every route, and the reference is served from here alone', async () => {
  const document = JSON.parse((await send('GET', '/openapi.json')).body)
  for (const { name, route } of routes) {
    const path = route.url.replace(/[:*](\w+)/g, '{$1}')
    assert.equal(document.paths[path]?.[route.method.toLowerCase()]?.operationId, name)
  }
  const page = await send('GET', '/docs/')
  assert.equal(page.status, 200)
  assert.doesNotMatch(page.body, /src="https?:/)
  assert.match(String(page.headers['content-security-policy']), /default-src 'self'/)
})

test('health tells the commit and the mode, readiness that all parts answer', async () => {
  const health = JSON.parse((await send('GET', '/health')).body)
  assert.deepEqual([health.status, health.access_enforced], ['ok', true])
  await until(async () => (await send('GET', '/ready')).status === 200)
})

test('a service reached around the gateway answers 401', async () => {
  for (const { route } of routes) {
    const base = stack.settings[urlOf(route.owner)]
    const path = route.url.replace(/[:*]\w+/g, '1')
    const response = await fetch(base + path, { method: route.method, headers: bearer(officer) })
    assert.deepEqual([route.url, response.status], [route.url, 401])
  }
})

test('a GET that says it has a body disturbs no other request', async () => {
  const { hostname, port } = new URL(stack.url)
  for (let i = 0; i < 5; i++) {
    const length = { 'content-length': '20' }
    const outgoing = request({ hostname, port, path: '/.well-known/jwks.json', headers: length })
    outgoing.end('x'.repeat(20))
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    await text(answer)
    assert.equal((await send('GET', '/api/auth/name', bearer(officer))).status, 200)
  }
})

test('an authorization header counts once however it is spelled', async (t) => {
  const limited = await testStack(t, { RATE_CREDENTIAL_PER_MINUTE: '3' })
  const { access_token } = await limited.signIn(people.officer)
  const statuses = []
  for (const spaces of [1, 2, 3, 4]) {
    const authorization = `Bearer${' '.repeat(spaces)}${access_token}`
    statuses.push(
      (await fetch(`${limited.url}/api/auth/name`, { headers: { authorization } })).status,
    )
  }
  assert.deepEqual(statuses, [200, 200, 200, 429])
})
