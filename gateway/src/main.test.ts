import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { ensureStreams } from '@guildhall/bus/streams'
import { busAs, TEST_INTERNAL_KEY, testBroker } from '@guildhall/bus/testing'
import { cleanUp } from '@guildhall/service/testing'

test('a gateway that cannot start ends with 1, and why is an error event', async (t) => {
  const { url } = await testBroker(t)
  const ops = await busAs(t, { url, peer: 'ops' })
  await ensureStreams(ops.jsm)
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  cleanUp(t, async () => other.close())
  const { port } = other.address() as { port: number }
  const env = { INTERNAL_KEY: TEST_INTERNAL_KEY, NATS_URL: url, PORT: `${port}`, ADMIN_PORT: '0' }
  const gateway = spawn(process.execPath, [`${import.meta.dirname}/main.ts`], { env })
  cleanUp(t, async () => gateway.kill('SIGKILL'))
  const [out, [code]] = await Promise.all([text(gateway.stdout), once(gateway, 'exit')])
  assert.equal(code, 1, out)
  assert.match(out, /"FATAL".*EADDRINUSE/)
  assert.equal((await ops.jsm.streams.info('ERRORS')).state.messages, 1)
})
