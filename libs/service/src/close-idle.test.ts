import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createApp } from './app.ts'
import { callerKey } from './caller-token.ts'
import { createLog } from './log.ts'
import { cleanUp, until } from './testing.ts'

test('an app that closes answers what is under way, and does not wait for those who ask no more', async (t) => {
  const log = createLog('ops', { format: 'json', level: 'fatal' })
  const app = createApp({
    service: 'ops',
    log,
    callerKey: callerKey('44'.repeat(32), 'ops'),
    ready: {},
  })
  const later = Promise.withResolvers<string>()
  let asked = false
  app.get('/later', () => {
    asked = true
    return later.promise
  })
  const stream = new PassThrough()
  app.get('/stream', async () => stream)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  cleanUp(t, () => app.close())
  stream.write('begun, ')
  const streamed = await fetch(`${url}/stream`)
  const answered = fetch(`${url}/later`)
  await until(() => asked)

  const began = performance.now()
  const closed = app.close()
  await until(() => !app.server.listening)
  later.resolve('answered')
  stream.end('and ended')
  assert.equal(await (await answered).text(), 'answered')
  assert.equal(await streamed.text(), 'begun, and ended')
  await closed
  assert.ok(performance.now() - began < 5_000)
})
