import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  actOnPod,
  createPod,
  getPod,
  listPods,
  type PodAction,
  reconcilePods,
} from '@guildhall/contracts/compute'
import { planPodSession, scheduleSessions } from '@guildhall/contracts/pod-sessions'
import { until } from '@guildhall/service/testing'
import { officer, runningPodOf, type TestCompute, testOnPods } from '../testing.ts'

type OnPods = Awaited<ReturnType<typeof testOnPods>>

const org = { params: { org: 'org1' } }
const at = (pod_id: string) => ({ params: { org: 'org1', pod_id } })
/** Longer than a request of an officer is left alone. */
const LATER_MS = 120_000
/** Every wait of a client in these tests is over soon after. */
const HANGING = { PODHOST_TIMEOUT_MS: '150' }

const make = ({ as }: TestCompute) => as(officer()).call(createPod, { ...org, body: {} })
const act = ({ as }: TestCompute, pod: string, action: PodAction) =>
  as(officer()).call(actOnPod, { ...at(pod), body: { action } })

async function listed({ as }: TestCompute) {
  const reply = await as(officer()).call(listPods, org)
  assert.ok(reply.status === 200)
  return reply.body.pods
}

/** What the host itself has: each of these costs. */
async function onHost({ sandbox }: OnPods): Promise<{ id: string; status: string }[]> {
  sandbox.world.faults = {}
  const authorization = `Bearer ${sandbox.world.keys.podhost}`
  const reply = await fetch(`${sandbox.podhostUrl}/pods`, { headers: { authorization } })
  return ((await reply.json()) as { pods: { id: string; status: string }[] }).pods
}

async function later(compute: TestCompute) {
  compute.clock.ahead += LATER_MS
  assert.equal((await compute.run(reconcilePods)).state, 'done')
}

async function audited({ db }: TestCompute, action: string) {
  const rows = await db.selectFrom('outbox').select('payload').execute()
  return rows.filter(({ payload }) => (payload as { action?: string }).action === action).length
}

for (const fault of ['slow', 'wrong_body'] as const) {
  test(`a pod whose making is ${fault} is adopted later, and never made twice`, async (t) => {
    const compute = await testOnPods(t, HANGING)
    compute.sandbox.world.faults = { podhost: fault, podhostSlowMs: 1_000 }
    const reply = await make(compute)
    assert.ok(reply.status === 502 && reply.body.code === 'pod.unclear')
    assert.match(reply.body.error, /look there before you make another/)
    assert.deepEqual(await listed(compute), [])
    const [pod = assert.fail()] = await until(async () => {
      const pods = await onHost(compute)
      return pods.length > 0 && pods
    })
    await later(compute)
    await later(compute)
    assert.deepEqual(
      [(await onHost(compute)).length, (await listed(compute)).map(({ id }) => id)],
      [1, [pod.id]],
    )
    assert.equal(await audited(compute, 'compute.pod.created'), 1)
  })

  test(`a stop that is ${fault} is carried on until it is done, and written once`, async (t) => {
    const compute = await testOnPods(t, HANGING)
    const { id } = await runningPodOf(compute)
    compute.sandbox.world.faults = { podhost: fault, podhostSlowMs: 1_000 }
    const reply = await act(compute, id, 'stop')
    assert.ok(reply.status === 502 && reply.body.code === 'pod.unclear')
    assert.match(reply.body.error, /tried again each minute/)
    compute.sandbox.world.faults = {}
    await later(compute)
    await later(compute)
    assert.deepEqual(
      (await onHost(compute)).map(({ status }) => status),
      ['EXITED'],
    )
    assert.equal(await audited(compute, 'compute.pod.stopped'), 1)
  })
}

test('a host that fails after it did what it was asked is not asked twice', async (t) => {
  const compute = await testOnPods(t)
  compute.sandbox.world.faults = { podhost: 'fails_after' }
  const made = await make(compute)
  assert.ok(made.status === 201)
  const { id } = made.body.pod
  assert.equal((await onHost(compute)).length, 1)
  await until(async () => (await listed(compute))[0]?.status === 'RUNNING')
  for (const action of ['stop', 'start', 'terminate'] as const) {
    compute.sandbox.world.faults = { podhost: 'fails_after' }
    assert.equal((await act(compute, id, action)).status, 200, action)
  }
  assert.deepEqual([await onHost(compute), await listed(compute)], [[], []])
  for (const did of ['created', 'stopped', 'started', 'terminated'])
    assert.equal(await audited(compute, `compute.pod.${did}`), 1, did)
})

test('a pod whose termination nobody answers for is terminated later, and not started meanwhile', async (t) => {
  const compute = await testOnPods(t, HANGING)
  const { id } = await runningPodOf(compute)
  compute.sandbox.world.faults = { podhost: 'down' }
  const reply = await act(compute, id, 'terminate')
  assert.ok(reply.status === 502 && reply.body.code === 'pod.unclear')
  const start = await act(compute, id, 'start')
  assert.ok(start.status === 409 && start.body.code === 'pod.terminating')
  await later(compute)
  assert.equal((await listed(compute)).length, 1, 'a pod that still costs is still seen')
  compute.sandbox.world.faults = {}
  await later(compute)
  assert.deepEqual([await onHost(compute), await listed(compute)], [[], []])
})

test('a start that the host refused or never got is not made up for later', async (t) => {
  const compute = await testOnPods(t, HANGING)
  const { id } = await runningPodOf(compute)
  await act(compute, id, 'stop')
  compute.sandbox.world.faults = { podhost: 'no_capacity' }
  const full = await act(compute, id, 'start')
  assert.ok(full.status === 409 && full.body.code === 'pod.wrong_state')
  assert.match(full.body.error, /no instances currently available.*try again later/)
  compute.sandbox.world.faults = { podhost: 'down' }
  const unclear = await act(compute, id, 'start')
  assert.ok(unclear.status === 502)
  assert.match(unclear.body.error, /ask again/)
  compute.sandbox.world.faults = {}
  for (let n = 0; n < 4; n++) await later(compute)
  const [pod] = await onHost(compute)
  assert.equal(pod?.status, 'EXITED')
  assert.deepEqual(await compute.db.selectFrom('pod_actions').selectAll().execute(), [])
})

test('no capacity and 429 leave nothing behind and say what to do', async (t) => {
  const compute = await testOnPods(t)
  compute.sandbox.world.faults = { podhost: 'no_capacity' }
  const full = await make(compute)
  assert.ok(full.status === 400 && full.body.code === 'podhost.refused')
  assert.match(full.body.error, /no instances currently available.*no capacity/)
  compute.sandbox.world.faults = { podhost: 'rate_limited', podhostRetryAfterSeconds: 45 }
  const limited = await make(compute)
  assert.ok(limited.status === 502 && limited.body.code === 'podhost.rate_limited')
  assert.match(limited.body.error, /try again in 45 s/)
  assert.deepEqual(await compute.db.selectFrom('pods').selectAll().execute(), [])
  assert.deepEqual(await onHost(compute), [])
})

test('a pod that the host cannot run says why', async (t) => {
  const compute = await testOnPods(t)
  const reply = await compute.as(officer()).call(createPod, {
    ...org,
    body: { env: { PATH: '/evil' } },
  })
  assert.ok(reply.status === 201)
  const { id } = reply.body.pod
  await until(async () => (await listed(compute))[0]?.status === 'ERROR', 30_000)
  const log = await fetch(`${compute.sandbox.podhostUrl}/pods/${id}/logs`, {
    headers: { authorization: `Bearer ${compute.sandbox.world.keys.podhost}` },
  })
  const [, said = assert.fail()] = /.*"line":"([^"\\]+)/.exec(await log.text()) ?? []
  const seen = await compute.as(officer()).call(getPod, at(id))
  assert.ok(seen.status === 200)
  const { warning = '' } = seen.body.pod
  assert.ok(warning.includes(`its log there ends with: ${said}`), `${warning} / ${said}`)
  assert.match((await listed(compute))[0]?.warning ?? '', /Read the pod alone/)
})

test('a pod that one listing misses is stopped after its session all the same', async (t) => {
  const compute = await testOnPods(t)
  const { id } = await runningPodOf(compute)
  const when = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
  const body = { start_at: when(1), stop_at: when(2) }
  const planned = await compute.as(officer()).call(planPodSession, { ...at(id), body })
  assert.equal(planned.status, 201)
  compute.clock.ahead = LATER_MS + 1_000
  compute.sandbox.world.faults = { podhost: 'list_misses' }
  const gone = await compute.as(officer()).call(getPod, at(id))
  assert.ok(gone.status === 200 && gone.body.pod.status === 'GONE')
  await compute.run(scheduleSessions)
  const [pod] = await onHost(compute)
  assert.equal(pod?.status, 'EXITED')
})
