import assert from 'node:assert/strict'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type OutboundRequest, outbound } from './fetch.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function* zeros() {
  for (;;) yield Buffer.alloc(65_536)
}

/** A service that gives these answers in turn, the last one for ever; `calls` counts requests, `waits` the pauses between. */
async function scripted(t: TestContext, ...answers: Answer[]) {
  const seen = { calls: 0, waits: [] as number[] }
  const origin = await listen(t, (request, response) => {
    const answer = answers[Math.min(seen.calls++, answers.length - 1)]
    answer?.(request, response)
  })
  const wait = async (ms: number) => void seen.waits.push(ms)
  const ask = (request: Partial<OutboundRequest> = {}) =>
    outbound({ service: 'embeddings', url: `${origin}/v1?key=s3cret`, wait, ...request })
  return { ask, seen, origin }
}

const status =
  (code: number, headers = {}): Answer =>
  (_, response) =>
    response.writeHead(code, headers).end('body')
const ok: Answer = (_, response) => response.end('{"ok":true}')
const hang: Answer = () => undefined
const drop: Answer = (request) => request.socket.destroy()

test('JSON goes out and comes back', async (t) => {
  const { ask } = await scripted(t, async (request, response) => {
    const sent = JSON.parse(Buffer.concat(await request.toArray()).toString())
    response.end(
      JSON.stringify({ sent, type: request.headers['content-type'], method: request.method }),
    )
  })
  const answer = await ask({ method: 'POST', body: { input: ['a'] } })
  const expected = { sent: { input: ['a'] }, type: 'application/json', method: 'POST' }
  assert.deepEqual([answer.status, answer.json()], [200, expected])
})

test('bytes go out as they are and a compressed answer is opened', async (t) => {
  const { ask } = await scripted(t, async (request, response) => {
    const sent = Buffer.concat(await request.toArray())
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(sent))
  })
  const body = Uint8Array.of(0, 1, 255)
  const answer = await ask({
    method: 'PUT',
    body,
    headers: { 'content-type': 'application/x-thing' },
  })
  assert.deepEqual([...answer.bytes], [...body])
})

test('a read is tried again after 429, 5xx and a lost connection', async (t) => {
  for (const trouble of [status(429), status(500), status(503), drop]) {
    const { ask, seen } = await scripted(t, trouble, ok)
    assert.deepEqual((await ask()).json(), { ok: true })
    assert.deepEqual([seen.calls, seen.waits.length], [2, 1])
  }
})

test('a POST is tried again after 429 only, unless it is stated to be idempotent', async (t) => {
  for (const [trouble, code] of [
    [status(500), 'failed'],
    [drop, 'unreachable'],
  ] as const) {
    const strict = await scripted(t, trouble, ok)
    await assert.rejects(strict.ask({ method: 'POST' }), {
      kind: 'upstream',
      code: `embeddings.${code}`,
    })
    assert.equal(strict.seen.calls, 1)
    const stated = await scripted(t, trouble, ok)
    assert.equal((await stated.ask({ method: 'POST', idempotent: true })).status, 200)
  }
  const limited = await scripted(t, status(429), ok)
  assert.equal((await limited.ask({ method: 'POST' })).status, 200)
})

test('retries end, and the error is the last one', async (t) => {
  const { ask, seen } = await scripted(t, status(429), status(502))
  await assert.rejects(ask({ retries: 3 }), { code: 'embeddings.failed', message: /answered 502/ })
  assert.equal(seen.calls, 4)
})

test('pauses are random and grow', async (t) => {
  const { ask, seen } = await scripted(t, status(500))
  await assert.rejects(ask({ retries: 8 }))
  for (const [retry, ms] of seen.waits.entries()) {
    assert.ok(ms <= Math.min(10_000, 500 * 2 ** retry), `${retry}: ${ms}`)
  }
  assert.ok(new Set(seen.waits).size > 1)
})

test('Retry-After is honoured in seconds and as a date, and a long one is not waited for', async (t) => {
  const inTenSeconds = () => new Date(Date.now() + 10_000).toUTCString()
  for (const [header, least, most] of [
    ['2', 2000, 2500],
    [inTenSeconds(), 8000, 10_500],
  ] as const) {
    const { ask, seen } = await scripted(t, status(429, { 'retry-after': header }), ok)
    await ask()
    const [waited = 0] = seen.waits
    assert.ok(waited >= least && waited <= most, `${header}: ${waited}`)
  }
  const { ask, seen } = await scripted(t, status(429, { 'retry-after': '3600' }), ok)
  await assert.rejects(ask(), { code: 'embeddings.rate_limited' })
  assert.equal(seen.calls, 1)
})

test('a refusal is not tried again, and accepted statuses are answers', async (t) => {
  for (const code of [400, 401, 404]) {
    const { ask, seen } = await scripted(t, status(code))
    await assert.rejects(ask(), {
      code: 'embeddings.refused',
      message: new RegExp(`answered ${code}`),
    })
    assert.equal(seen.calls, 1)
    assert.equal((await ask({ accept: [code] })).status, code)
  }
})

test('a redirect is not followed', async (t) => {
  const { ask } = await scripted(t, status(302, { location: '/elsewhere' }), ok)
  await assert.rejects(ask(), { code: 'embeddings.redirected' })
})

test('a service that does not answer, or stops halfway, is given up in time', async (t) => {
  const halfway: Answer = (_, response) => void response.writeHead(200).write('{')
  for (const slow of [hang, halfway]) {
    const { ask, seen } = await scripted(t, slow)
    const error = { kind: 'upstream', code: 'embeddings.timeout', message: /within 50 ms/ }
    await assert.rejects(ask({ timeoutMs: 50, retries: 1 }), error)
    assert.equal(seen.calls, 2)
  }
})

test('an answer past the limit is cut off: announced, endless or compressed', async (t) => {
  const announced: Answer = (_, response) =>
    response.writeHead(200, { 'content-length': 1e9 }).flushHeaders()
  const endless: Answer = (_, response) => void pipeline(zeros(), response, () => undefined)
  const bomb: Answer = (_, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(5_000_000)))
  for (const large of [announced, endless, bomb]) {
    const { ask, seen } = await scripted(t, large)
    await assert.rejects(ask({ maxBytes: 100_000 }), {
      code: 'embeddings.too_large',
      message: /100000 bytes/,
    })
    assert.equal(seen.calls, 1)
  }
})

test('an answer that is not JSON is an error that does not quote it', async (t) => {
  const { ask } = await scripted(t, (_, response) => response.end('<html>token=s3cret'))
  const answer = await ask()
  assert.throws(
    () => answer.json(),
    (error: Error & { code?: string; cause?: unknown }) => {
      assert.deepEqual([error.code, error.cause], ['embeddings.not_json', undefined])
      return !error.message.includes('s3cret')
    },
  )
})

test('errors name the service and its origin, never path, query or credentials', async (t) => {
  const { origin } = await scripted(t, status(500))
  const url = `${origin.replace('//', '//user:hunter2@')}/webhooks/s3cret?key=s3cret`
  const ask = outbound({ service: 'renderer', url, retries: 0 })
  await assert.rejects(ask, { message: `renderer (${origin}) answered 500` })
  for (const bad of ['hunter2', 'file:///s3cret', 'ftp://s3cret']) {
    await assert.rejects(outbound({ service: 'renderer', url: bad }), {
      code: 'renderer.misconfigured',
      message: 'The URL set for renderer is not an http(s) URL',
    })
  }
})

test('credentials in the URL become Basic authentication', async (t) => {
  const origin = await listen(t, (request, response) =>
    response.end(JSON.stringify(request.headers.authorization)),
  )
  const url = origin.replace('//', '//user:p%40ss@')
  const answer = await outbound({ service: 'renderer', url })
  assert.equal(answer.json(), `Basic ${Buffer.from('user:p@ss').toString('base64')}`)
})

test('a stopped caller is not kept waiting by retries', async (t) => {
  const { origin } = await scripted(t, status(429, { 'retry-after': '20' }))
  const stop = new AbortController()
  const asked = outbound({ service: 'renderer', url: origin, signal: stop.signal })
  setImmediate(() => stop.abort())
  await assert.rejects(asked, { kind: 'upstream' })
})

test('what is guarded goes to public addresses only, with the same retries, bodies and errors', async (t) => {
  const guard = { allowAddresses: ['127.0.0.1'] }
  const echo: Answer = async (request, response) => {
    const sent = Buffer.concat(await request.toArray()).toString()
    response.end(JSON.stringify([request.headers['content-type'], sent]))
  }
  const busy = await scripted(t, status(503), echo)
  const request = { method: 'POST', body: { a: 1 }, idempotent: true }
  const answer = await busy.ask({ ...request, guard })
  assert.deepEqual(answer.json(), ['application/json', '{"a":1}'])
  assert.deepEqual([busy.seen.calls, busy.seen.waits.length], [2, 1])
  await assert.rejects(busy.ask({ ...request, guard: {} }), {
    kind: 'upstream',
    code: 'embeddings.not_allowed',
    message: /not on the public internet/,
  })
  assert.equal(busy.seen.calls, 2)
  for (const [trouble, code, calls] of [
    [status(401), 'refused', 1],
    [status(302, { location: '/elsewhere' }), 'redirected', 1],
    [status(500), 'failed', 3],
    [drop, 'unreachable', 3],
    [hang, 'timeout', 3],
  ] as const) {
    const { ask, seen } = await scripted(t, trouble)
    const asked = ask({ ...request, guard, timeoutMs: 100 })
    await assert.rejects(asked, { kind: 'upstream', code: `embeddings.${code}` })
    assert.equal(seen.calls, calls, code)
  }
})
