import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import { connectBus } from './connect.ts'
import { quietLog, TEST_INTERNAL_KEY } from './testing.ts'

test('who waits for a while only is told that nobody answers, whether it is refused or silent', async (t) => {
  const sockets: Socket[] = []
  const silent = createServer((socket) => void sockets.push(socket))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  cleanUp(t, async () => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const { port } = silent.address() as { port: number }
  for (const host of ['127.0.0.1:1', `127.0.0.1:${port}`]) {
    const began = performance.now()
    const options = { peer: 'operator', url: `nats://${host}`, timeoutMs: 600 } as const
    await assert.rejects(
      connectBus({ ...options, internalKey: TEST_INTERNAL_KEY, log: quietLog }),
      { code: 'nats.unreachable', message: new RegExp(host) },
    )
    const took = performance.now() - began
    assert.ok(took > 300 && took < 5_000, `${host}: ${took} ms`)
  }
})
