import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actOnPod, createPod, getPod } from '@guildhall/contracts/compute'
import {
  listPodSessions,
  planPodSession,
  removePodSession,
  scheduleSessions,
} from '@guildhall/contracts/pod-sessions'
import { until } from '@guildhall/service/testing'
import { madePod, officer, type TestCompute, testCompute } from '../testing.ts'
import { PODHOST_KEY } from '../testing-podhost.ts'

const MINUTE = 60_000
const at = (pod_id: string) => ({ params: { org: 'org1', pod_id } })
/** The clock, in minutes from the start of the test. */
const set = ({ clock }: TestCompute, minutes: number) => {
  clock.ahead = minutes * MINUTE
}

async function plan({ as, clock }: TestCompute, pod: string, from: number, to: number) {
  const zero = Date.now() + clock.ahead - clock.ahead
  const when = (minutes: number) => new Date(zero + minutes * MINUTE).toISOString()
  const body = { start_at: when(from), stop_at: when(to) }
  const reply = await as(officer()).call(planPodSession, { ...at(pod), body })
  assert.ok(reply.status === 201, JSON.stringify(reply.body))
  return reply.body.session
}

async function stoppedPod(compute: TestCompute) {
  const { id } = await madePod(compute)
  await act(compute, id, 'stop')
  return id
}
const act = ({ as }: TestCompute, pod: string, action: 'start' | 'stop') =>
  as(officer()).call(actOnPod, { ...at(pod), body: { action } })
const remove = ({ as }: TestCompute, pod_id: string, session_id: string) =>
  as(officer()).call(removePodSession, { params: { org: 'org1', pod_id, session_id } })

/** The pod's state after a run of the schedule at this minute. */
async function runAt(compute: TestCompute, minutes: number, pod: string) {
  set(compute, minutes)
  assert.equal((await compute.run(scheduleSessions)).state, 'done')
  return compute.world.pods.get(pod)?.status
}

test('a pod runs from ten minutes before its session to the end of it', async (t) => {
  const compute = await testCompute(t)
  const pod = await stoppedPod(compute)
  await plan(compute, pod, 30, 60)
  assert.equal(await runAt(compute, 19, pod), 'EXITED')
  assert.equal(await runAt(compute, 21, pod), 'RUNNING')
  assert.equal(await runAt(compute, 59, pod), 'RUNNING')
  assert.equal(await runAt(compute, 61, pod), 'EXITED')
  const listed = await compute.as(officer()).call(listPodSessions, at(pod))
  assert.ok(listed.status === 200)
  const [session = assert.fail()] = listed.body.sessions
  assert.deepEqual([session.started, session.finished], [true, true])
  await act(compute, pod, 'start')
  assert.equal(await runAt(compute, 70, pod), 'RUNNING', 'a session that is over is over')
})

test('a pod that ran before is stopped too; one without sessions is not touched', async (t) => {
  const compute = await testCompute(t)
  const [pod, other] = [(await madePod(compute)).id, (await madePod(compute)).id]
  await plan(compute, pod, 10, 20)
  assert.equal(await runAt(compute, 5, pod), 'RUNNING')
  assert.equal(await runAt(compute, 21, pod), 'EXITED')
  assert.equal(compute.world.pods.get(other)?.status, 'RUNNING')
})

test('a pod stays up while another session is open or about to be', async (t) => {
  const compute = await testCompute(t)
  const pod = await stoppedPod(compute)
  await plan(compute, pod, 10, 30)
  await plan(compute, pod, 20, 40)
  await plan(compute, pod, 49, 60)
  assert.equal(await runAt(compute, 5, pod), 'RUNNING')
  assert.equal(await runAt(compute, 31, pod), 'RUNNING')
  assert.equal(await runAt(compute, 41, pod), 'RUNNING')
  assert.equal(await runAt(compute, 61, pod), 'EXITED')
})

test('removing the session that a pod was started for stops it at the next run, any other does not', async (t) => {
  const compute = await testCompute(t)
  const [pod, ran] = [await stoppedPod(compute), (await madePod(compute)).id]
  const mine = await plan(compute, pod, 10, 60)
  const seen = await plan(compute, ran, 10, 60)
  assert.equal(await runAt(compute, 5, pod), 'RUNNING')
  assert.deepEqual((await remove(compute, pod, mine.id)).body, { deleted: true })
  await remove(compute, ran, seen.id)
  assert.equal((await remove(compute, pod, mine.id)).status, 404)
  const shown = await compute.as(officer()).call(getPod, at(pod))
  assert.ok(shown.status === 200)
  assert.deepEqual(shown.body.pod.sessions, [], 'the pod still runs for it, and nobody sees it')
  assert.equal(compute.world.pods.get(pod)?.status, 'RUNNING')
  assert.equal(await runAt(compute, 10, pod), 'EXITED')
  assert.equal(compute.world.pods.get(ran)?.status, 'RUNNING')
  assert.deepEqual(await compute.db.selectFrom('sessions').selectAll().execute(), [])
})

test('a pod that an officer stops during its session stays stopped', async (t) => {
  const compute = await testCompute(t)
  const pod = await stoppedPod(compute)
  await plan(compute, pod, 10, 60)
  await runAt(compute, 5, pod)
  await act(compute, pod, 'stop')
  assert.equal(await runAt(compute, 15, pod), 'EXITED')
})

test('what the host refuses is tried again, and holds up no other pod', async (t) => {
  const compute = await testCompute(t)
  const pods = [await stoppedPod(compute), await stoppedPod(compute)]
  for (const pod of pods) await plan(compute, pod, 10, 20)
  const act = { at: 'POST /v2/pods/:id/action', fault: 'failing' as const }
  compute.world.faults.push(act)
  await runAt(compute, 5, '')
  const states = () => pods.map((pod) => compute.world.pods.get(pod)?.status).sort()
  assert.deepEqual(states(), ['EXITED', 'RUNNING'])
  await runAt(compute, 10, '')
  assert.deepEqual(states(), ['RUNNING', 'RUNNING'])
  const silent = Array.from({ length: 3 }, () => ({
    at: 'GET /v2/pods',
    fault: 'failing' as const,
  }))
  compute.world.faults.push(...silent)
  await runAt(compute, 21, '')
  assert.deepEqual(states(), ['RUNNING', 'RUNNING'])
  await runAt(compute, 25, '')
  assert.deepEqual(states(), ['EXITED', 'EXITED'])
})

test('a pod that the host leaves waiting keeps no other pod waiting', async (t) => {
  const compute = await testCompute(t, { PODHOST_TIMEOUT_MS: '20000' })
  const pods = [await stoppedPod(compute), await stoppedPod(compute)]
  for (const pod of pods) await plan(compute, pod, 10, 20)
  const stuck = { at: 'POST /v2/pods/:id/action', fault: 'stuck' as const }
  compute.world.faults.push(stuck, stuck)
  const run = runAt(compute, 5, '')
  await until(() => compute.world.waiting === pods.length)
  compute.world.hangUp()
  await run
})

test('sessions are those of their pod: others are neither listed nor removed with it', async (t) => {
  const compute = await testCompute(t)
  compute.secrets.set(2, PODHOST_KEY)
  const [mine, beside] = [(await madePod(compute)).id, (await madePod(compute)).id]
  const rival = compute.as(officer(2))
  const made = await rival.call(createPod, { params: { org: 'org2' }, body: {} })
  assert.ok(made.status === 201)
  const { id: foreign } = made.body.pod
  const [planned, started] = [await plan(compute, mine, 30, 40), await plan(compute, mine, 10, 20)]
  await compute.db
    .updateTable('sessions')
    .set({ started_pod: true })
    .where('id', '=', started.id)
    .execute()
  const listed = async (as = compute.as(officer()), pod = mine) => {
    const reply = await as.call(listPodSessions, at(pod))
    return reply.status === 200 && reply.body.sessions.map(({ id }) => id)
  }
  assert.deepEqual(await listed(), [started.id, planned.id])
  assert.deepEqual(await listed(compute.as(officer()), beside), [])
  assert.deepEqual(await listed(rival, foreign), [])
  for (const { id } of [planned, started]) {
    assert.equal((await remove(compute, beside, id)).status, 404)
    const params = { org: 'org2', pod_id: foreign, session_id: id }
    assert.equal((await rival.call(removePodSession, { params })).status, 404)
  }
  assert.deepEqual(await listed(), [started.id, planned.id])
})

test('two processes that run the schedule at once start each pod once', async (t) => {
  const compute = await testCompute(t)
  await compute.replica()
  const pods = await Promise.all([stoppedPod(compute), stoppedPod(compute)])
  for (const pod of pods) await plan(compute, pod, 10, 20)
  set(compute, 5)
  const before = compute.world.asked.length
  await Promise.all(Array.from({ length: 4 }, () => compute.run(scheduleSessions)))
  const starts = compute.world.asked.slice(before).filter((one) => one.endsWith('/action'))
  assert.equal(starts.length, 2)
})

test('of ten officers planning the hundredth session at once one succeeds', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute)
  for (let n = 0; n < 99; n++) await plan(compute, id, 10, 20)
  const body = {
    start_at: new Date(Date.now() + MINUTE).toISOString(),
    stop_at: new Date(Date.now() + 2 * MINUTE).toISOString(),
  }
  const send = () => compute.as(officer()).call(planPodSession, { ...at(id), body })
  const replies = await Promise.all(Array.from({ length: 10 }, send))
  const codes = replies.map((reply) => (reply.status === 201 ? 201 : reply.body.code))
  assert.equal(codes.filter((code) => code === 201).length, 1)
  assert.equal(codes.filter((code) => code === 'session.too_many').length, 9)
})

test('a session that is backwards, too long, over or without a zone is refused', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute)
  const now = Date.now()
  const when = (minutes: number) => new Date(now + minutes * MINUTE).toISOString()
  for (const [start_at, stop_at] of [
    [when(10), when(10)],
    [when(10), when(10 + 24 * 60 + 1)],
    [when(-20), when(-10)],
    ['2030-01-01T10:00:00', '2030-01-01T11:00:00'],
  ] as const) {
    const body = { start_at, stop_at }
    const reply = await compute.as(officer()).call(planPodSession, { ...at(id), body })
    assert.equal(reply.status, 400, start_at)
  }
  const body = { start_at: when(10), stop_at: when(10 + 24 * 60) }
  const longest = await compute.as(officer()).call(planPodSession, { ...at(id), body })
  assert.equal(longest.status, 201, JSON.stringify(longest.body))
})
