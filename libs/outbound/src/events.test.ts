import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import { firstEvents } from './events.ts'

const LONG_MS = 60_000
const SHORT_MS = 300
const event = (n: number) => `id: ${n}\ndata: line ${n}\n\n`

/** Where a server answers as it is told. */
async function serverOf(t: TestContext, answer: (reply: ServerResponse) => void) {
  const server = createServer((_req, reply) => answer(reply))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, async () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, headers: {} }
}

test('a stream that is kept open is read as far as asked, or as long', async (t) => {
  const kept = await serverOf(t, (reply) => void reply.write(event(1) + event(2) + event(3)))
  assert.deepEqual(await firstEvents({ ...kept, most: 2, ms: LONG_MS }), ['line 1', 'line 2'])
  assert.equal((await firstEvents({ ...kept, most: 9, ms: SHORT_MS })).length, 3)
})

test('a stream that ends, is cut, refused or endless without an event is no error', async (t) => {
  const wanted = { most: 9, ms: LONG_MS }
  const ended = await serverOf(t, (reply) => reply.end(event(1)))
  assert.deepEqual(await firstEvents({ ...ended, ...wanted }), ['line 1'])
  const cut = await serverOf(t, (reply) => reply.write(event(1), () => reply.destroy()))
  assert.ok((await firstEvents({ ...cut, ...wanted })).length <= 1)
  const refused = await serverOf(t, (reply) => reply.writeHead(403).end(event(1)))
  assert.deepEqual(await firstEvents({ ...refused, ...wanted }), [])
  const endless = await serverOf(t, (reply) => void reply.write(`data: ${'x'.repeat(100_000)}`))
  assert.deepEqual(await firstEvents({ ...endless, ...wanted }), [])
})
