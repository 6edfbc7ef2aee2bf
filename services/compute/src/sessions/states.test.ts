import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  actOnPod,
  getPod,
  type PodAction,
  type PodStatus,
  reconcilePods,
} from '@guildhall/contracts/compute'
import {
  planPodSession,
  removePodSession,
  scheduleSessions,
} from '@guildhall/contracts/pod-sessions'
import { madePod, officer, type TestCompute, testCompute } from '../testing.ts'

const MINUTE_MS = 60_000
const at = (pod_id: string) => ({ params: { org: 'org1', pod_id } })

const act = ({ as }: TestCompute, pod: string, action: PodAction) =>
  as(officer()).call(actOnPod, { ...at(pod), body: { action } })

async function plan({ as }: TestCompute, pod: string, start_at: string, stop_at: string) {
  const reply = await as(officer()).call(planPodSession, {
    ...at(pod),
    body: { start_at, stop_at },
  })
  assert.ok(reply.status === 201, JSON.stringify(reply.body))
  return reply.body.session.id
}

const remove = ({ as }: TestCompute, pod_id: string, session_id: string) =>
  as(officer()).call(removePodSession, { params: { org: 'org1', pod_id, session_id } })

async function runAt(compute: TestCompute, time: string) {
  compute.clock.ahead = Date.parse(time) - Date.now()
  assert.equal((await compute.run(scheduleSessions)).state, 'done')
}

interface Row {
  row: string
  from: PodStatus
  to: 'RUNNING' | 'STARTING' | 'EXITED' | 'ERROR' | undefined
  does(compute: TestCompute, pod: string): Promise<unknown>
}

/** Minutes from now as a time. */
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * MINUTE_MS).toISOString()
/** A session from ten to twenty minutes from now, and runs of the job at these minutes. */
async function withSession(compute: TestCompute, pod: string, ...minutes: number[]) {
  const id = await plan(compute, pod, inMinutes(10), inMinutes(20))
  for (const minute of minutes) await runAt(compute, inMinutes(minute))
  return id
}

/** Officers may ask for each action in any state. */
const actions = (from: PodStatus, after: Record<PodAction, Row['to']>): Row[] =>
  (['start', 'stop', 'restart', 'terminate'] as const).map((action) => ({
    row: `${from}, ${action} by an officer`,
    from,
    to: after[action],
    async does(compute, pod) {
      const reply = await act(compute, pod, action)
      const status = after[action] ?? 'TERMINATED'
      assert.deepEqual(reply.body, { id: pod, action, status }, `${from}, ${action}`)
    },
  }))

const AFTER = {
  start: 'RUNNING',
  stop: 'EXITED',
  restart: 'RUNNING',
  terminate: undefined,
} as const
/** What already starts is not started again. */
const SOON = { ...AFTER, start: 'STARTING', restart: 'STARTING' } as const

/** Every row of "States and transitions, Pods". */
const TABLE: Row[] = [
  ...actions('RUNNING', AFTER),
  ...actions('STARTING', SOON),
  ...actions('EXITED', AFTER),
  ...actions('ERROR', { ...AFTER, stop: 'ERROR' }),
  ...(['STARTING', 'PROVISIONING'] as const).map(
    (from): Row => ({
      row: `${from} still, its session has ended`,
      from,
      to: 'EXITED',
      does: (compute, pod) => withSession(compute, pod, 21),
    }),
  ),
  {
    row: 'stopped, more than ten minutes before a session',
    from: 'EXITED',
    to: 'EXITED',
    does: (compute, pod) => withSession(compute, pod, -1),
  },
  {
    row: 'stopped, ten minutes or less before a session',
    from: 'EXITED',
    to: 'RUNNING',
    does: (compute, pod) => withSession(compute, pod, 1),
  },
  {
    row: 'running, its session has ended',
    from: 'EXITED',
    to: 'EXITED',
    does: (compute, pod) => withSession(compute, pod, 1, 21),
  },
  {
    row: 'running before its session began, which has ended',
    from: 'RUNNING',
    to: 'EXITED',
    does: (compute, pod) => withSession(compute, pod, 1, 21),
  },
  {
    row: 'running, a session has ended and another is open',
    from: 'EXITED',
    to: 'RUNNING',
    async does(compute, pod) {
      await plan(compute, pod, inMinutes(15), inMinutes(40))
      await withSession(compute, pod, 1, 21)
    },
  },
  {
    row: 'running, its session is removed and the job has not run',
    from: 'EXITED',
    to: 'RUNNING',
    async does(compute, pod) {
      await remove(compute, pod, await withSession(compute, pod, 1))
    },
  },
  {
    row: 'running, its session is removed and the job has run',
    from: 'EXITED',
    to: 'EXITED',
    async does(compute, pod) {
      await remove(compute, pod, await withSession(compute, pod, 1))
      await runAt(compute, inMinutes(2))
    },
  },
  {
    row: 'running without sessions',
    from: 'RUNNING',
    to: 'RUNNING',
    does: (compute) => runAt(compute, inMinutes(1)),
  },
  {
    row: 'stopped without sessions',
    from: 'EXITED',
    to: 'EXITED',
    does: (compute) => runAt(compute, inMinutes(1)),
  },
]

test('every row of the table of states holds', async (t) => {
  const compute = await testCompute(t)
  for (const { row, from, to, does } of TABLE) {
    compute.clock.ahead = 0
    const { id } = await madePod(compute)
    Object.assign(compute.world.pods.get(id) ?? {}, { status: from })
    await does(compute, id)
    assert.equal(compute.world.pods.get(id)?.status, to, row)
    const { status } = await compute.as(officer()).call(getPod, at(id))
    assert.equal(status, to ? 200 : 404, row)
    if (to) await act(compute, id, 'terminate')
  }
})

test('a session keeps its hours where clocks are put forward and back', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute)
  const state = async (time: string) => {
    await runAt(compute, time)
    return compute.world.pods.get(id)?.status
  }
  await act(compute, id, 'stop')
  // in Berlin an hour later although the clock shows two
  await plan(compute, id, '2027-03-28T01:30:00+01:00', '2027-03-28T03:30:00+02:00')
  // half past two comes twice
  await plan(compute, id, '2027-10-31T02:30:00+02:00', '2027-10-31T02:40:00+02:00')
  await plan(compute, id, '2027-10-31T02:30:00+01:00', '2027-10-31T02:40:00+01:00')
  for (const [time, wanted] of [
    ['2027-03-28T00:19:00Z', 'EXITED'],
    ['2027-03-28T00:21:00Z', 'RUNNING'],
    ['2027-03-28T01:29:00Z', 'RUNNING'],
    ['2027-03-28T01:31:00Z', 'EXITED'],
    ['2027-10-31T00:21:00Z', 'RUNNING'],
    ['2027-10-31T00:41:00Z', 'EXITED'],
    ['2027-10-31T01:19:00Z', 'EXITED'],
    ['2027-10-31T01:21:00Z', 'RUNNING'],
    ['2027-10-31T01:41:00Z', 'EXITED'],
  ] as const)
    assert.equal(await state(time), wanted, time)
})

test('a day of 25 hours is too long for a session, one of 23 is not', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute)
  const long = { start_at: '2027-10-31T00:00:00+02:00', stop_at: '2027-11-01T00:00:00+01:00' }
  const refused = await compute.as(officer()).call(planPodSession, { ...at(id), body: long })
  assert.ok(refused.status === 400 && refused.body.code === 'session.too_long')
  await plan(compute, id, '2027-03-28T00:00:00+01:00', '2027-03-29T00:00:00+02:00')
})

for (const off of ['is deactivated', 'has compute off'] as const) {
  test(`the pods of a club that ${off} are stopped after their sessions and never started`, async (t) => {
    const compute = await testCompute(t)
    const [running, stopped] = [(await madePod(compute)).id, (await madePod(compute)).id]
    await act(compute, stopped, 'stop')
    for (const pod of [running, stopped]) await plan(compute, pod, inMinutes(10), inMinutes(20))
    const { directory } = compute
    const { org } = directory
    directory.org = org && off === 'has compute off' ? { ...org, modules: ['apps'] } : null
    await runAt(compute, inMinutes(15))
    const states = () => [running, stopped].map((pod) => compute.world.pods.get(pod)?.status)
    assert.deepEqual(states(), ['RUNNING', 'EXITED'])
    await runAt(compute, inMinutes(21))
    assert.deepEqual(states(), ['EXITED', 'EXITED'])
  })
}

test('a stop that the host never answered does not end the next session', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute)
  await plan(compute, id, inMinutes(-10), inMinutes(2))
  await plan(compute, id, inMinutes(14), inMinutes(30))
  const fault = { at: 'POST /v2/pods/:id/action', fault: 'failing' as const }
  compute.world.faults.push(fault)
  await runAt(compute, inMinutes(3)) // the first is over; the host fails
  await runAt(compute, inMinutes(5)) // the second is about to begin
  await compute.run(reconcilePods)
  assert.equal(compute.world.pods.get(id)?.status, 'RUNNING')
})
