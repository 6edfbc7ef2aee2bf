import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  actOnPod,
  createPod,
  listPods,
  type PodAction,
  reconcilePods,
} from '@guildhall/contracts/compute'
import { until } from '@guildhall/service/testing'
import { madePod, officer, type TestCompute, testCompute } from '../testing.ts'
import type { Fault } from '../testing-podhost.ts'
import { computeProcess } from '../testing-process.ts'

type Client = TestCompute['as']

const org = { params: { org: 'org1' } }
/** Longer than a request under way is left alone; the job runs each minute. */
const LATER_MS = 61_000
const MOMENTS = { stuck: 'before the host acts', unanswered: 'after the host acted' } as const
type Moment = keyof typeof MOMENTS

/** A process is killed while the host holds what `ask` sends it; others go on a minute later. */
async function killedWhile(
  t: TestContext,
  compute: TestCompute,
  { at, fault, ask }: { at: string; fault: Fault; ask: (as: Client) => Promise<unknown> },
) {
  const { world, clock } = compute
  const { as, kill } = await computeProcess(t, compute)
  world.faults.push({ at, fault })
  const asked = ask(as).catch(() => 'cut off')
  await until(() => world.waiting > 0)
  await kill()
  assert.equal(await asked, 'cut off')
  clock.ahead += LATER_MS
  // the broker may still give the dead process a question or two
  await until(async () => (await compute.run(reconcilePods)).state === 'done', 30_000)
}

async function listed({ as }: TestCompute) {
  const reply = await as(officer()).call(listPods, org)
  assert.ok(reply.status === 200)
  return reply.body.pods.map(({ id, status }) => [id, status])
}

const onHost = ({ world }: TestCompute) =>
  [...world.pods.values()].map(({ id, status }) => [id, status])

async function audited({ db }: TestCompute, action: string) {
  const rows = await db.selectFrom('outbox').select('payload').execute()
  return rows.filter(({ payload }) => (payload as { action?: string }).action === action).length
}

const requestOf = (action: PodAction) =>
  action === 'terminate' ? 'DELETE /v2/pods/:id' : 'POST /v2/pods/:id/action'

const askFor = (pod_id: string, action: PodAction) => (as: Client) =>
  as(officer()).call(actOnPod, { params: { org: 'org1', pod_id }, body: { action } })

for (const [fault, when] of Object.entries(MOMENTS) as [Moment, string][]) {
  test(`a process killed ${when} leaves no pod that nobody sees, and makes none twice`, async (t) => {
    const compute = await testCompute(t)
    const ask = (as: Client) => as(officer()).call(createPod, { ...org, body: {} })
    await killedWhile(t, compute, { at: 'POST /v2/pods', fault, ask })
    assert.equal(compute.world.pods.size, fault === 'stuck' ? 0 : 1)
    assert.deepEqual(await listed(compute), onHost(compute))
    compute.clock.ahead += LATER_MS
    await compute.run(reconcilePods)
    assert.equal(compute.world.asked.filter((one) => one === 'POST /v2/pods').length, 1)
    assert.equal(await audited(compute, 'compute.pod.created'), compute.world.pods.size)
  })

  for (const { action, before, stuck, unanswered, did } of [
    // a start is never made up for: whoever wanted it may be gone
    { action: 'start', before: 'EXITED', stuck: 'EXITED', unanswered: 'RUNNING', did: 'started' },
    { action: 'stop', before: 'RUNNING', stuck: 'EXITED', unanswered: 'EXITED', did: 'stopped' },
    { action: 'terminate', before: 'RUNNING', stuck: '', unanswered: '', did: 'terminated' },
  ] as const) {
    test(`a process killed ${when} leaves a pod to ${action} as the list says`, async (t) => {
      const compute = await testCompute(t)
      const { id } = await madePod(compute)
      if (before === 'EXITED') await askFor(id, 'stop')(compute.as)
      await killedWhile(t, compute, { at: requestOf(action), fault, ask: askFor(id, action) })
      const after = { stuck, unanswered }[fault]
      assert.deepEqual(onHost(compute), after ? [[id, after]] : [])
      assert.deepEqual(await listed(compute), onHost(compute))
      const happened = before !== after
      assert.equal(await audited(compute, `compute.pod.${did}`), happened ? 1 : 0)
      await compute.run(reconcilePods)
      assert.equal(await audited(compute, `compute.pod.${did}`), happened ? 1 : 0)
    })
  }
}
