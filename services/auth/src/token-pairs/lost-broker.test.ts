import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { REVOKED_SILENCE_MS, revoke } from '@guildhall/contracts/auth'
import { changed } from '@guildhall/contracts/event'
import { createMachineToken, deleteMachineToken } from '@guildhall/contracts/tokens'
import { newId } from '@guildhall/service/id'
import { cleanUp, clientAs, until } from '@guildhall/service/testing'
import { readConfig } from '../config.ts'
import { start } from '../main.ts'
import { officer, signedIn, testAuth } from '../testing.ts'
import { toldGateways } from '../testing-told.ts'
import { watchBucket } from './testing-bucket.ts'

/** A way to `url` on which, once it is cut, nothing arrives and nobody is told. */
async function wayTo(t: TestContext, url: string) {
  const target = new URL(url)
  const sockets: Socket[] = []
  let cut = false
  const server = createServer((from) => {
    const to = connect(Number(target.port), target.hostname)
    sockets.push(from, to)
    for (const socket of [from, to]) socket.on('error', () => {})
    if (cut) return
    from.pipe(to)
    to.pipe(from)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return {
    url: Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
    cut() {
      cut = true
      for (const socket of sockets) socket.unpipe().pause()
    },
  }
}

/** A second auth whose broker can be lost, while the first one's stays. */
async function twoAuths(t: TestContext) {
  const auth = await testAuth(t)
  const way = await wayTo(t, auth.settings.NATS_URL)
  const second = await start(readConfig({ ...auth.settings, NATS_URL: way.url }))
  cleanUp(t, () => second[Symbol.asyncDispose]())
  const { INTERNAL_KEY } = auth.settings
  const as = (identity: Parameters<typeof auth.as>[0]) =>
    clientAs(second.url, INTERNAL_KEY, identity)
  return { auth, as, cut: way.cut }
}

test('what a replica without its broker revokes is in the bucket within a second, sent by the other', async (t) => {
  const { auth, as, cut } = await twoAuths(t)
  const seen = await watchBucket(t, auth)
  const caller = {
    ...signedIn(),
    token_id: newId(),
    expires_at: Math.floor(Date.now() / 1000) + 60,
  }
  cut()
  const began = performance.now()
  assert.equal((await as({ caller }).call(revoke, { body: {} })).status, 200)
  await until(() => seen.has(caller.token_id))
  const ms = performance.now() - began
  assert.ok(ms < REVOKED_SILENCE_MS, `${ms} ms`)
})

test('a machine token deleted by a replica without its broker is told by the other', async (t) => {
  const { auth, as, cut } = await twoAuths(t)
  const told = await toldGateways(t, auth, changed.machineToken)
  const params = { org_id: String(auth.org.id) }
  const body = { name: 'app', kind: 'app' as const, scopes: ['org:read' as const] }
  const client = as({ caller: officer(), org: auth.org })
  const made = await client.call(createMachineToken, { params, body })
  assert.ok(made.status === 201)
  const { id: token_id } = made.body
  cut()
  const began = performance.now()
  const gone = await client.call(deleteMachineToken, { params: { ...params, token_id } })
  assert.equal(gone.status, 200)
  await until(() => told.includes(token_id))
  const ms = performance.now() - began
  assert.ok(ms < REVOKED_SILENCE_MS, `${ms} ms`)
})
