import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { registry } from './metrics.ts'
import { observe } from './observe.ts'
import { currentTrace, inTrace, traceFrom, traceparent } from './trace.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const FROM = `00-${TRACE}-b7ad6b7169203331-01`

test('a header that is none of W3C begins a new trace', () => {
  for (const header of [
    undefined,
    '',
    'x',
    FROM.slice(1),
    `${FROM}-more`,
    FROM.replace(/[a-f]/g, 'g'),
  ])
    assert.notEqual(traceFrom(header).trace_id, TRACE)
  assert.notEqual(traceFrom(`00-${'0'.repeat(32)}-b7ad6b7169203331-01`).trace_id, '0'.repeat(32))
  assert.equal(traceFrom(FROM).trace_id, TRACE)
  assert.equal(traceFrom(FROM).sampled, true)
  assert.equal(traceparent(), undefined)
  assert.match(
    String(inTrace(traceFrom(FROM), traceparent)),
    new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`),
  )
})

test('a request is in its trace before and after its body came, and is counted by its route', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  observe(app, 'tested', traceFrom)
  app.post('/things/:id', async () => ({ trace: currentTrace()?.trace_id }))
  app.setErrorHandler(async (_error, req) => ({ trace: req.trace.trace_id }))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const post = async (body: string, headers: Record<string, string> = {}) => {
    const json = { 'content-type': 'application/json', ...headers }
    const answer = await fetch(`${url}/things/7`, { method: 'POST', body, headers: json })
    return (await answer.json()) as { trace: string }
  }
  const large = JSON.stringify({ text: 'x'.repeat(500_000) })
  assert.equal((await post(large, { traceparent: FROM })).trace, TRACE)
  assert.equal((await post('{', { traceparent: FROM })).trace, TRACE)
  const [one, two] = [await post('{}'), await post('{}')]
  assert.notEqual(one.trace, two.trace)
  const shown = await registry.metrics()
  assert.match(
    shown,
    /guildhall_http_request_seconds_count\{service="tested",method="POST",route="\/things\/:id",status="200"\} [34]/,
  )
})
