import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { ensureStreams } from '@guildhall/bus/streams'
import { busAs, TEST_INTERNAL_KEY, testBroker } from '@guildhall/bus/testing'
import { subjectOfCall } from '@guildhall/contracts/call'
import { findOrg, getModules } from '@guildhall/contracts/orgs'
import { cleanUp, until } from '@guildhall/service/testing'
import { readConfig } from './config.ts'
import { start } from './main.ts'

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

/** Auth, which answers nothing by itself: a way to answer each question of the gateway for an org. */
async function testAuth(t: TestContext, url: string) {
  const auth = await busAs(t, { url, peer: 'auth' })
  const asked: ((answer: string) => boolean)[] = []
  auth.nats.subscribe(subjectOfCall(findOrg), {
    callback: (_, message) => void asked.push((answer) => message.respond(answer)),
  })
  await auth.nats.flush()
  return asked
}

test('what is logged while a gateway runs, and while it closes, is in the stream of errors', async (t) => {
  const { url: NATS_URL } = await testBroker(t)
  const ops = await busAs(t, { url: NATS_URL, peer: 'ops' })
  await ensureStreams(ops.jsm)
  const asked = await testAuth(t, NATS_URL)
  const env = { NATS_URL, INTERNAL_KEY: TEST_INTERNAL_KEY, PORT: '0', ADMIN_PORT: '0' }
  const gateway = await start(readConfig({ ...env, LOG_LEVEL: 'fatal' }))
  cleanUp(t, () => gateway[Symbol.asyncDispose]())
  const send = async (org_id: number) => {
    const { status } = await fetch(gateway.url + getModules.url.replace(':org_id', `${org_id}`))
    return status
  }
  const errors = async () => (await ops.jsm.streams.info('ERRORS')).state.messages
  const nonsense = JSON.stringify({ value: 'no reply of the contract' })

  const first = send(1)
  await until(() => asked[0]?.(nonsense))
  assert.equal(await first, 500)
  await until(async () => (await errors()) === 1)

  const second = send(2)
  await until(() => asked.length === 2)
  const began = performance.now()
  const closed = gateway[Symbol.asyncDispose]()
  asked[1]?.(nonsense)
  assert.equal(await second, 500)
  await closed
  assert.ok(performance.now() - began < 5_000)
  assert.equal(await errors(), 2)
})
