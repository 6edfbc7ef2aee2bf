import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { createLog } from '@guildhall/service/log'
import { cleanUp, until } from '@guildhall/service/testing'
import { connectBus } from './connect.ts'
import { busAs, quietLog, TEST_INTERNAL_KEY, testBroker } from './testing.ts'

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

test('what NATS refuses is a line at error, but of an error event one at warn: no error causes the next', async (t) => {
  const { url } = await testBroker(t)
  const lines: { level: string; err?: { message: string } }[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const log = createLog('auth', { format: 'json', to })
  const auth = await busAs(t, { url, peer: 'auth', log })
  auth.nats.publish('audit.ops')
  auth.nats.publish('errors.ops')
  const levelOf = (subject: string) =>
    lines.find(({ err }) => err?.message.includes(`"${subject}"`))?.level
  await until(() => levelOf('audit.ops') && levelOf('errors.ops'))
  assert.deepEqual([levelOf('audit.ops'), levelOf('errors.ops')], ['ERROR', 'WARN'])
})
