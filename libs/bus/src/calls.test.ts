import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { findSigningKeys, isRevoked } from '@guildhall/contracts/auth'
import { changed } from '@guildhall/contracts/event'
import { findOrg } from '@guildhall/contracts/orgs'
import { AppError } from '@guildhall/service/errors'
import { createLog } from '@guildhall/service/log'
import { until } from '@guildhall/service/testing'
import { answer, ask } from './calls.ts'
import { onChanged, tellChanged } from './changed.ts'
import { busAs, testBroker } from './testing.ts'

/** auth, which answers, and the gateway, which asks. */
async function setUp(t: TestContext) {
  const lines: string[] = []
  const log = createLog('auth', {
    format: 'json',
    to: { write: (line: string) => void lines.push(line) },
  })
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth', log })
  const gateway = await busAs(t, { url: nats.url, peer: 'gateway' })
  return { nats, auth, gateway, lines }
}
const thrownBy = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (thrown) => thrown,
  )
  assert.ok(error instanceof AppError, String(error))
  return error
}
const slowly = { ...isRevoked, deadlineMs: 200 }

test('an answer comes back, with the request id going there', async (t) => {
  const { auth, gateway } = await setUp(t)
  const heard: unknown[] = []
  answer(auth, isRevoked, async (args, from) => {
    heard.push({ ...args, ...from })
    return { revoked: true }
  })
  await auth.nats.flush()
  assert.deepEqual(await ask(gateway, isRevoked, { jti: 'a' }, { request_id: 'r1' }), {
    revoked: true,
  })
  await ask(gateway, isRevoked, { jti: 'b' })
  assert.deepEqual(heard, [
    { jti: 'a', request_id: 'r1' },
    { jti: 'b', request_id: undefined },
  ])
})

test('an AppError travels with its kind, code, message, details and Retry-After', async (t) => {
  const { auth, gateway, lines } = await setUp(t)
  const sent = { details: [{ path: '/jti', message: 'is odd' }], retryAfter: 9 }
  answer(auth, isRevoked, async () => {
    throw new AppError('rate_limited', 'token.busy', 'Wait a little', sent)
  })
  await auth.nats.flush()
  const { kind, code, message, details, retryAfter } = await thrownBy(
    ask(gateway, isRevoked, { jti: 'a' }),
  )
  assert.deepEqual(
    { kind, code, message, details, retryAfter },
    { kind: 'rate_limited', code: 'token.busy', message: 'Wait a little', ...sent },
  )
  assert.deepEqual(lines, [])
})

test('arguments that do not fit are refused before the handler', async (t) => {
  const { auth, gateway } = await setUp(t)
  let ran = false
  answer(auth, isRevoked, async () => {
    ran = true
    return { revoked: false }
  })
  await auth.nats.flush()
  for (const sent of ['{"jti":7}', '{}', 'no json', '']) {
    const { problem } = (await gateway.nats.request('rpc.auth.is_revoked', sent)).json<{
      problem: { kind: string; code: string }
    }>()
    assert.deepEqual([problem.kind, problem.code], ['invalid', 'call.invalid'], sent)
  }
  assert.equal(ran, false)
})

test('a fault of the answering service is hidden, logged there, and never the fault of the asking', async (t) => {
  const { auth, gateway, lines } = await setUp(t)
  answer(auth, isRevoked, async () => ({ revoked: 'maybe' }) as never)
  answer(auth, findSigningKeys, async () => {
    throw new Error('secret detail')
  })
  await auth.nats.flush()
  for (const work of [ask(gateway, isRevoked, { jti: 'a' }), ask(gateway, findSigningKeys, {})]) {
    const { kind, code, message } = await thrownBy(work)
    assert.deepEqual([kind, code], ['unavailable', 'auth.failed'])
    assert.doesNotMatch(message, /secret/)
  }
  assert.equal(lines.length, 2)
})

test('an answer longer than NATS takes is a fault, and the next one comes', async (t) => {
  const { auth, gateway } = await setUp(t)
  const kid = { jti: 'a' }
  answer(auth, findSigningKeys, async () => ({
    keys: [{ kty: 'RSA', kid: 'x'.repeat(2_000_000), alg: 'RS256', use: 'sig' }],
  }))
  answer(auth, isRevoked, async () => ({ revoked: false }))
  await auth.nats.flush()
  assert.equal((await thrownBy(ask(gateway, findSigningKeys, {}))).code, 'auth.failed')
  assert.deepEqual(await ask(gateway, isRevoked, kid), { revoked: false })
})

test('where nobody answers the call is unavailable at once', async (t) => {
  const { gateway } = await setUp(t)
  const began = Date.now()
  const error = await thrownBy(ask(gateway, isRevoked, { jti: 'a' }))
  assert.deepEqual([error.kind, error.code], ['unavailable', 'auth.unreachable'])
  assert.ok(Date.now() - began < 1_000)
})

test('an answer later than the deadline is unavailable', async (t) => {
  const { auth, gateway } = await setUp(t)
  const { promise, resolve } = Promise.withResolvers<{ revoked: boolean }>()
  answer(auth, isRevoked, () => promise)
  await auth.nats.flush()
  const began = Date.now()
  const error = await thrownBy(ask(gateway, slowly, { jti: 'a' }))
  assert.deepEqual([error.kind, error.code], ['unavailable', 'auth.unreachable'])
  assert.ok(Date.now() - began >= 190)
  resolve({ revoked: true })
})

test('a call that the contract does not allow is unavailable, not answered', async (t) => {
  const { nats, auth } = await setUp(t)
  answer(auth, isRevoked, async () => ({ revoked: true }))
  const ops = await busAs(t, { url: nats.url, peer: 'ops' })
  assert.equal((await thrownBy(ask(ops, slowly, { jti: 'a' }))).kind, 'unavailable')
})

test('replicas share the calls', async (t) => {
  const { nats, auth, gateway } = await setUp(t)
  const replica = await busAs(t, { url: nats.url, peer: 'auth' })
  const ran = [0, 0]
  for (const [i, bus] of [auth, replica].entries()) {
    answer(bus, findOrg, async () => {
      ran[i] = (ran[i] ?? 0) + 1
      return { org: null }
    })
    await bus.nats.flush()
  }
  await Promise.all(Array.from({ length: 60 }, () => ask(gateway, findOrg, { id: 1 })))
  assert.equal((ran[0] ?? 0) + (ran[1] ?? 0), 60)
  assert.ok(ran.every((runs) => runs > 0))
})

test('calls are answered again after NATS was killed', async (t) => {
  const { nats, auth, gateway } = await setUp(t)
  answer(auth, isRevoked, async () => ({ revoked: true }))
  await auth.nats.flush()
  const killed = Number(nats.pid())
  process.kill(killed, 'SIGKILL')
  await until(() => nats.pid() !== undefined && nats.pid() !== killed)
  assert.deepEqual(await until(() => ask(gateway, slowly, { jti: 'a' })), { revoked: true })
})

test('a change reaches every process that listens for that thing, with its id', async (t) => {
  const { nats, auth, gateway } = await setUp(t)
  const ops = await busAs(t, { url: nats.url, peer: 'ops' })
  const heard: string[] = []
  for (const bus of [gateway, ops]) {
    onChanged(bus, changed.org, (id) => heard.push(id))
    await bus.nats.flush()
  }
  tellChanged(auth, changed.machineToken, 'x')
  tellChanged(auth, changed.org, 7)
  await until(() => heard.length === 2)
  assert.deepEqual(heard, ['7', '7'])
})
