import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from './app.ts'
import { callerKey } from './caller-token.ts'
import { createLog } from './log.ts'
import type { Readiness } from './probes.ts'

test('readiness names what is missing; health and metrics answer all the same', async (t) => {
  const ready: Readiness = {}
  const app = createApp({
    service: 'ops',
    log: createLog('ops', { format: 'json', level: 'silent' }),
    callerKey: callerKey('77'.repeat(32), 'ops'),
    ready,
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  assert.deepEqual(await (await fetch(`${url}/ready`)).json(), { status: 'ready', missing: [] })

  ready.postgres = async () => Promise.reject(new Error('refused'))
  ready.index = async () => 'is built'
  ready.nats = async () => undefined
  const response = await fetch(`${url}/ready`)
  assert.equal(response.status, 503)
  assert.deepEqual(await response.json(), {
    status: 'waiting',
    missing: ['postgres: refused', 'index: is built'],
  })
  assert.equal((await fetch(`${url}/health`)).status, 200)
  assert.match(await (await fetch(`${url}/metrics`)).text(), /process_cpu/)
})
