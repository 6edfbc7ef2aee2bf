import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPod, listPods, reconcilePods } from '@guildhall/contracts/compute'
import { until } from '@guildhall/service/testing'
import { madePod, officer, type TestCompute, testCompute } from '../testing.ts'
import type { Fault } from '../testing-podhost.ts'

const org = { params: { org: 'org1' } }
const CREATE = 'POST /v2/pods'
const LIST = 'GET /v2/pods'
/** Longer than a request is left alone. */
const LATER_MS = 120_000

const make = ({ as }: TestCompute) => as(officer()).call(createPod, { ...org, body: {} })
const fail = ({ world }: TestCompute, at: string, fault: Fault, times = 1) =>
  world.faults.push(...Array.from({ length: times }, () => ({ at, fault })))
const podsOf = async ({ as }: TestCompute) => {
  const reply = await as(officer()).call(listPods, { ...org })
  assert.ok(reply.status === 200)
  return reply.body.pods
}

test('a pod that was made although the host answered 500, garbage or nothing is found at once', async (t) => {
  const compute = await testCompute(t)
  for (const fault of ['lost', 'garbage'] as const) {
    fail(compute, CREATE, fault)
    assert.equal((await make(compute)).status, 201, fault)
  }
  assert.deepEqual([compute.world.pods.size, (await podsOf(compute)).length], [2, 2])
})

test('a pod whose answer was lost while the host could not be asked is adopted later, a stranger never', async (t) => {
  const compute = await testCompute(t)
  fail(compute, CREATE, 'lost')
  fail(compute, LIST, 'failing', 3)
  const lost = await make(compute)
  assert.ok(lost.status === 502 && lost.body.code === 'pod.unclear')
  const [ours = assert.fail()] = compute.world.pods.values()
  for (const env of [{}, { CLI_POD_RECORD: '01890000-0000-7000-8000-000000000000' }])
    compute.world.pods.set(`stranger${Object.keys(env).length}`, { ...ours, env, id: 'stranger' })
  assert.deepEqual(await podsOf(compute), [])
  await compute.run(reconcilePods)
  assert.deepEqual(await podsOf(compute), [], 'a request under way is left alone')
  compute.clock.ahead = LATER_MS
  fail(compute, LIST, 'garbage')
  await compute.run(reconcilePods)
  await compute.run(reconcilePods)
  await compute.run(reconcilePods)
  assert.deepEqual(
    (await podsOf(compute)).map(({ id }) => id),
    [ours.id],
  )
  assert.equal(compute.world.pods.size, 3)
})

test('a pod whose record is gone before the host answered is deleted on the host', async (t) => {
  const compute = await testCompute(t)
  fail(compute, CREATE, 'unanswered')
  const asked = make(compute)
  await until(() => compute.world.waiting === 1)
  await compute.db.deleteFrom('pods').execute()
  assert.equal(compute.world.pods.size, 1)
  compute.world.hangUp()
  const reply = await asked
  assert.ok(reply.status === 409 && reply.body.code === 'pod.not_made')
  assert.equal(compute.world.pods.size, 0)
})

test('a refusal leaves nothing behind and gives the reason of the host; 429 is waited for', async (t) => {
  const compute = await testCompute(t)
  fail(compute, CREATE, 'capacity')
  const refused = await make(compute)
  assert.ok(refused.status === 400 && refused.body.error.includes('no instances available'))
  assert.deepEqual(await compute.db.selectFrom('pods').selectAll().execute(), [])
  fail(compute, CREATE, 'limited')
  assert.equal((await make(compute)).status, 201)
  for (const fault of ['failing', 'silent'] as const) {
    fail(compute, CREATE, fault)
    const failed = await make(compute)
    assert.ok(failed.status === 502 && failed.body.code === 'pod.unclear', fault)
  }
  compute.clock.ahead = 25 * 3_600_000
  await compute.run(reconcilePods)
  assert.equal((await compute.db.selectFrom('pods').selectAll().execute()).length, 1)
})

test('of ten requests with one Idempotency-Key one makes a pod and all get it; a refusal frees the key', async (t) => {
  const compute = await testCompute(t)
  const headers = { 'idempotency-key': 'k1' }
  const send = (body: object = {}) =>
    compute.as(officer(), headers).call(createPod, { ...org, body })
  fail(compute, CREATE, 'capacity')
  assert.equal((await send()).status, 400)
  const replies = await Promise.all(Array.from({ length: 10 }, () => send()))
  const ids = replies.map((reply) => (reply.status === 201 ? reply.body.pod.id : reply.status))
  assert.deepEqual([new Set(ids).size, compute.world.pods.size], [1, 1])
  assert.equal((await send({ name: 'another' })).status, 409)
  await madePod(compute)
  assert.equal(compute.world.pods.size, 2)
})
