import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanUp } from '@guildhall/service/testing'

const probe = fileURLToPath(new URL('probe.ts', import.meta.url))

test('a probe succeeds where all is well, and fails where something is missing or nobody answers', async (t) => {
  const server = createServer((req, reply) => {
    reply.statusCode = req.url === '/ready' ? 200 : 503
    reply.end('{}')
  })
  cleanUp(t, async () => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const codes = [`${url}/ready`, `${url}/waiting`, 'http://127.0.0.1:1/ready'].map(async (at) => {
    const [code] = await once(spawn(process.execPath, [probe, at], { stdio: 'ignore' }), 'exit')
    return code
  })
  assert.deepEqual(await Promise.all(codes), [0, 1, 1])
})
