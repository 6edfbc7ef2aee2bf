import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { getName } from '@guildhall/contracts/auth'
import Fastify from 'fastify'
import { forward } from './forward.ts'

test('credentials, cookies, headers of the connection and a forged caller end at the gateway', async (t) => {
  let arrived: IncomingHttpHeaders = {}
  const service = createServer((req, res) => {
    arrived = req.headers
    res.end('{}')
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.after(() => service.close())
  const { port } = service.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const app = Fastify()
  const headers = { 'x-guildhall-caller': 'ours' }
  const to = { route: getName, agent, service: new URL(`http://127.0.0.1:${port}`), headers }
  app.get('/*', (req, reply) => forward(req, reply, to))
  t.after(() => app.close())

  const sent = {
    authorization: 'Bearer secret',
    cookie: 'session=secret',
    te: 'trailers',
    'x-guildhall-caller': 'forged',
    'x-kept': 'yes',
  }
  const answer = await app.inject({ url: '/api/auth/name', headers: sent })
  assert.equal(answer.statusCode, 200)
  for (const name of ['authorization', 'cookie', 'te']) assert.equal(arrived[name], undefined, name)
  assert.equal(arrived['x-guildhall-caller'], 'ours')
  assert.equal(arrived['x-kept'], 'yes')
})
