import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { revoke } from '@guildhall/contracts/auth'
import type { Caller } from '@guildhall/contracts/caller'
import { search } from '@guildhall/contracts/knowledge'
import { listOrgAudit } from '@guildhall/contracts/ops'
import { MEBIBYTE, type OrgRef, type Route } from '@guildhall/contracts/route'
import { type App, createApp } from './app.ts'
import { CALLER_HEADER, callerKey, signIdentity } from './caller-token.ts'
import { AppError } from './errors.ts'
import { createLog } from './log.ts'
import { clientAs } from './testing.ts'

const INTERNAL_KEY = '44'.repeat(32)
const org: OrgRef = { id: 1, prefix: 'chess', name: 'Chess', modules: [], publisher: false }
const machine: Caller = {
  kind: 'machine',
  token_id: 't',
  token_kind: 'app',
  name: 'n',
  scopes: ['knowledge:read'],
}
const officer: Caller = {
  kind: 'officer',
  chat_user_id: '12345',
  username: 'ada',
  token_id: 't',
  expires_at: 0,
  superadmin: false,
}

/** The HTTP side of `service` with what `add` adds, and what it logs. */
async function serve(t: TestContext, service: Route['owner'], add: (app: App) => void) {
  const lines: Record<string, unknown>[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const app = createApp({
    service,
    log: createLog(service, { format: 'json', level: 'warn', to }),
    callerKey: callerKey(INTERNAL_KEY, service),
    ready: {},
  })
  add(app)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  return {
    url,
    lines,
    ready: {},
    as: (caller: Caller) => clientAs(url, INTERNAL_KEY, { caller, org, request_id: 'r-1' }),
  }
}

const found = { results: [], dense: false }
const serveSearch = (t: TestContext, handler = async () => found) =>
  serve(t, 'knowledge', (app) => app.implement(search, handler))

/** A POST to the search as the gateway would send it, with any body and headers. */
async function post(url: string, body: RequestInit['body'], headers: Record<string, string>) {
  const target = { service: 'knowledge', method: 'POST', path: search.url } as const
  const signed = signIdentity(
    { caller: machine, org, request_id: 'r-1' },
    target,
    callerKey(INTERNAL_KEY, 'knowledge'),
  )
  const init = { method: 'POST', headers: { ...headers, [CALLER_HEADER]: signed } }
  const response = await fetch(url + search.url, { ...init, body: body ?? null })
  const { status } = response
  const retry = response.headers.get('retry-after')
  return { status, retry, body: (await response.json()) as Record<string, unknown> }
}
const JSON_TYPE = { 'content-type': 'application/json' }

test('a handler gets what the contract says, checked, and who calls', async (t) => {
  let seen: unknown
  const { as } = await serve(t, 'ops', (app) =>
    app.implement(listOrgAudit, async (input) => {
      seen = input
      return { entries: [], next_cursor: null }
    }),
  )
  const reply = await as(officer).call(listOrgAudit, { params: { org_id: '1' }, query: {} })

  assert.deepEqual(reply, { status: 200, body: { entries: [], next_cursor: null } })
  const { caller, org: orgSeen, params, query, request_id } = seen as Record<string, unknown>
  assert.deepEqual(
    { caller, orgSeen, params, query, request_id },
    {
      caller: officer,
      orgSeen: org,
      params: { org_id: 1 },
      query: { limit: 100 },
      request_id: 'r-1',
    },
  )
})

test('a route of another service cannot be implemented', async (t) => {
  await assert.rejects(
    serve(t, 'ops', (app) => app.implement(search, async () => found)),
    /belongs to knowledge/,
  )
})

test('a call around the gateway is 401, whatever it brings', async (t) => {
  const { url } = await serveSearch(t)
  const wrong = clientAs(url, '55'.repeat(32), { caller: machine, org })
  assert.equal((await wrong.call(search, { body: { query: 'x' } })).status, 401)
  for (const headers of [{}, { [CALLER_HEADER]: 'x' }, { authorization: 'Bearer x' }]) {
    const init = { method: 'POST', body: '{"query":"x"}', headers: { ...JSON_TYPE, ...headers } }
    const response = await fetch(url + search.url, init)
    assert.equal(response.status, 401)
    assert.equal(((await response.json()) as { code: string }).code, 'caller.unsigned')
  }
})

test('a caller of another kind or without the scope is 403', async (t) => {
  const { as } = await serveSearch(t)
  const unfit: Caller[] = [{ kind: 'public' }, officer, { ...machine, scopes: ['knowledge:write'] }]
  for (const caller of unfit) {
    const reply = await as(caller).call(search, { body: { query: 'x' } })
    assert.equal(reply.status, 403)
    assert.equal('code' in reply.body && reply.body.code, 'caller.unfit')
  }
})

test('the credential is judged before the body is read', async (t) => {
  const { url } = await serveSearch(t)
  const sending = new AbortController()
  const body = 'x'.repeat(2 * MEBIBYTE)
  const init = { method: 'POST', body, headers: JSON_TYPE, signal: sending.signal }
  assert.equal((await fetch(url + search.url, init)).status, 401)
  sending.abort() // the rest of the body would keep the connection busy
})

test('an unknown path or method is a 404 that says nothing', async (t) => {
  const { url } = await serveSearch(t)
  for (const [method, path] of [
    ['GET', '/api/knowledge/elsewhere'],
    ['GET', search.url],
    ['DELETE', search.url],
  ] as const) {
    const response = await fetch(url + path, { method })
    assert.equal(response.status, 404)
    assert.deepEqual(await response.json(), { error: 'Not found', code: 'route.not_found' })
  }
})

test('a body that is no JSON is 400', async (t) => {
  const { url } = await serveSearch(t)
  for (const body of ['{"query":', 'query=x', '']) {
    const reply = await post(url, body, JSON_TYPE)
    assert.deepEqual([reply.status, reply.body.code], [400, 'request.not_json'], body)
  }
})

test('a body of another media type is 415', async (t) => {
  const { url } = await serveSearch(t)
  const form = new FormData()
  form.append('query', 'x')
  for (const [body, headers] of [
    ['query=x', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['{"query":"x"}', { 'content-type': 'text/plain' }],
    ['<query/>', { 'content-type': 'application/xml' }],
    [form, {}],
  ] as [RequestInit['body'], Record<string, string>][]) {
    const reply = await post(url, body, headers)
    assert.deepEqual([reply.status, reply.body.code], [415, 'request.media_type'])
  }
})

test('a form cannot pass for the body that may be left out', async (t) => {
  let ran = false
  const { as, url } = await serve(t, 'auth', (app) =>
    app.implement(revoke, async () => {
      ran = true
      return { message: 'done' }
    }),
  )
  const platform: Caller = { ...officer, kind: 'platform' } as Caller
  const form = new FormData()
  form.append('x', 'y')
  const signed = signIdentity(
    { caller: platform, org: undefined, request_id: 'r' },
    { service: 'auth', method: 'POST', path: revoke.url },
    callerKey(INTERNAL_KEY, 'auth'),
  )
  const response = await fetch(url + revoke.url, {
    method: 'POST',
    body: form,
    headers: { [CALLER_HEADER]: signed },
  })
  assert.deepEqual([response.status, ran], [415, false])
  assert.equal((await as(platform).call(revoke, {})).status, 200)
})

test('a body longer than the contract allows is 413', async (t) => {
  const { url } = await serveSearch(t)
  const padded = (bytes: number) => `{"query":"x"}`.padEnd(bytes, ' ')
  assert.equal((await post(url, padded(MEBIBYTE), JSON_TYPE)).status, 200)
  const reply = await post(url, padded(MEBIBYTE + 1), JSON_TYPE)
  assert.deepEqual([reply.status, reply.body.code], [413, 'request.too_large'])
})

test('every part that does not fit its schema is named with its path', async (t) => {
  const { url } = await serveSearch(t)
  const reply = await post(
    url,
    JSON.stringify({ query: '', top_k: 51, embedding: ['x'] }),
    JSON_TYPE,
  )
  assert.deepEqual([reply.status, reply.body.code], [400, 'request.invalid'])
  const details = reply.body.details as { path: string; message: string }[]
  assert.deepEqual([...new Set(details.map(({ path }) => path))].sort(), [
    '/body/embedding',
    '/body/embedding/0',
    '/body/query',
    '/body/top_k',
  ])
  for (const { path, message } of details) {
    assert.ok((reply.body.error as string).includes(`${path}: ${message}`))
  }
})

test('a query or parameter that does not fit is named with its place', async (t) => {
  const { as } = await serve(t, 'ops', (app) =>
    app.implement(listOrgAudit, async () => ({ entries: [], next_cursor: null })),
  )
  const paths = async (org_id: string, limit: string) => {
    const { status, body } = await as(officer).call(listOrgAudit, {
      params: { org_id },
      query: { limit },
    })
    assert.equal(status, 400)
    return 'details' in body && body.details?.map(({ path }) => path)
  }
  assert.deepEqual(await paths('0', '5'), ['/path/org_id'])
  assert.deepEqual(await paths('1', '501'), ['/query/limit'])
})

test('an AppError is answered by its kind, code, details and Retry-After', async (t) => {
  const details = [{ path: '/body/query', message: 'is busy' }]
  const { url, lines } = await serveSearch(t, async () => {
    throw new AppError('rate_limited', 'search.busy', 'Wait', { details, retryAfter: 7 })
  })
  const { status, retry, body } = await post(url, '{"query":"x"}', JSON_TYPE)
  assert.deepEqual([status, retry], [429, '7'])
  assert.deepEqual(body, { error: 'Wait', code: 'search.busy', details })
  assert.deepEqual(lines, [])
})

test('an error nobody foresaw is hidden, and logged once under the id of the request', async (t) => {
  const secret = 'connect postgres://user:pass@host'
  const { url, lines } = await serveSearch(t, async () => {
    throw new TypeError(secret)
  })
  const reply = await post(url, '{"query":"x"}', JSON_TYPE)

  assert.equal(reply.status, 500)
  assert.deepEqual(reply.body, { error: 'Internal error', code: 'internal', request_id: 'r-1' })
  assert.equal(lines.length, 1)
  const { level, reqId, err } = lines[0] as { level: string; reqId: string; err: Error }
  assert.deepEqual([level, reqId, err.message], ['ERROR', 'r-1', secret])
})

test('whatever is thrown, a 500 comes of it', async (t) => {
  for (const thrown of [undefined, null, 'a text', 7, { statusCode: 'x' }]) {
    const { url } = await serveSearch(t, async () => {
      throw thrown
    })
    const reply = await post(url, '{"query":"x"}', JSON_TYPE)
    assert.deepEqual([reply.status, reply.body.code], [500, 'internal'], String(thrown))
  }
})

test('an answer that does not fit the contract is a fault of ours', async (t) => {
  const { url, lines } = await serveSearch(t, async () => ({ results: 'none' }) as never)
  const reply = await post(url, '{"query":"x"}', JSON_TYPE)
  assert.deepEqual([reply.status, reply.body.code, lines.length], [500, 'internal', 1])
})

test('a text that Postgres cannot hold is the fault of its sender', async (t) => {
  const { url, lines } = await serveSearch(t, async () => ({ results: [], dense: false }))
  for (const [body, code] of [
    ['{"query":"a\\u0000"}', 'request.nul'],
    ['{"query":"x","more":[{"a\\u0000":1}]}', 'request.nul'],
    ['{"query":"a\\ud800b"}', 'request.surrogate'],
    ['{"query":"x","more":{"\\udfff":""}}', 'request.surrogate'],
    ['{"query":"x","more":[1,"a\\u0000"]}', 'request.nul'],
    [`{"query":"x","more":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, 'request.too_deep'],
    ['{"query":"x","__proto__":{"a":1}}', 'request.reserved_key'],
    [`{"query":"x","more":${'[1,'.repeat(50_000)}1${']'.repeat(50_000)}}`, 'request.too_deep'],
  ] as const) {
    const reply = await post(url, body, JSON_TYPE)
    assert.deepEqual([reply.status, reply.body.code, lines.length], [400, code, 0], body)
  }
  assert.notEqual((await post(url, '{"query":"\\ud83d\\ude00"}', JSON_TYPE)).status, 400)
})
