import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import { post } from './chat-webhook.ts'

test('a webhook over https that leads inside is refused, and nothing is connected to', async (t) => {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => server[Symbol.asyncDispose]())
  const { port } = server.address() as AddressInfo
  for (const host of ['127.0.0.1', 'localhost']) {
    const url = new URL(`https://${host}:${port}/api/webhooks/1/secret-token`)
    const outcome = await post(url, { title: 'x', fields: [], footer: { text: 'x' } })
    assert.ok(outcome.is === 'refused' && outcome.all, JSON.stringify(outcome))
    assert.ok(!outcome.why.includes('secret-token'))
  }
  assert.equal(connections, 0)
})
