import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { createPod, listPods, type Pod } from '@guildhall/contracts/compute'
import { callOf, type ToolArgs } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { until } from '@guildhall/service/testing'
import { officer, testCompute } from './testing.ts'

const caller = {
  token_id: '01890000-0000-7000-8000-00000000000a',
  token_kind: 'agent' as const,
  name: 'helper',
  scopes: ['compute:manage'],
}
const org = { id: 1, prefix: 'org1', name: 'Org 1', modules: ['compute'], publisher: false }

/** compute, and its tools as mcp asks for them. */
async function setUp(t: TestContext) {
  const compute = await testCompute(t)
  const mcp = await busAs(t, { url: compute.settings.NATS_URL, peer: 'mcp' })
  async function use(name: string, input: object = {}, more: Partial<ToolArgs> = {}) {
    const tool = tools.find((one) => one.name === name) ?? assert.fail(name)
    const args = { caller, org, input: { ...input }, preview: false, ...more }
    return (await ask(mcp, callOf(tool), args)).answer
  }
  const pods = async () => {
    const reply = await compute.as(officer()).call(listPods, { params: { org: 'org1' }, query: {} })
    assert.ok(reply.status === 200)
    return reply.body.pods
  }
  const lines = async () => {
    const rows = await compute.db.selectFrom('outbox').select('payload').orderBy('id').execute()
    return rows.map(({ payload }) => {
      const { source, action, actor_id } = payload as Record<string, string>
      return `${source} ${action} ${actor_id === caller.token_id}`
    })
  }
  return { ...compute, mcp, use, pods, lines }
}

test('a pod that a tool makes is nobody else’s, is made once, and every change is told as of mcp', async (t) => {
  const { use, pods, lines } = await setUp(t)
  await use('compute.create_pod', { name: 'lab' }, { preview: true })
  assert.deepEqual(await pods(), [])
  const keyed = { idempotency_key: 'once' }
  const made = (await use('compute.create_pod', { name: 'lab' }, keyed)) as { pod: Pod }
  const again = (await use('compute.create_pod', { name: 'lab' }, keyed)) as { pod: Pod }
  assert.deepEqual([again.pod.id, made.pod.created_by], [made.pod.id, caller.token_id])
  assert.equal((await pods()).length, 1)

  const times = [1, 2].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString())
  const [start_at, stop_at] = times
  const { id: pod_id } = made.pod
  const planned = (await use('compute.add_session', { pod_id, start_at, stop_at })) as {
    session: { id: string; created_by: string }
  }
  assert.equal(planned.session.created_by, caller.token_id)
  const session_id = planned.session.id
  const named = { pod_id, session_id }
  const shown = await use('compute.delete_session', named, { preview: true })
  assert.deepEqual(shown, planned)
  const none = { pod_id, session_id: caller.token_id }
  await assert.rejects(use('compute.delete_session', none, { preview: true }), {
    code: 'session.not_found',
  })
  assert.deepEqual(await use('compute.delete_session', named), { deleted: true })
  await use('compute.pod_action', { pod_id, action: 'stop' })
  assert.deepEqual(await lines(), [
    'mcp compute.pod.created true',
    'mcp compute.session.planned true',
    'mcp compute.session.removed true',
    'mcp compute.pod.stopped true',
  ])
})

test('a list without the pod host says so', async (t) => {
  const { use, world, mcp } = await setUp(t)
  await use('compute.create_pod')
  const failing = { at: 'GET /v2/pods', fault: 'failing' as const }
  world.faults.push(...Array.from({ length: 100 }, () => failing))
  const tool = tools.find(({ name }) => name === 'compute.pods') ?? assert.fail()
  const degraded = await until(async () => {
    const { degraded: said } = await ask(mcp, callOf(tool), {
      caller,
      org,
      input: {},
      preview: false,
    })
    return said
  })
  assert.equal(degraded, 'podhost')
  world.faults.length = 0
  assert.ok(await use('compute.pods'))
})

test('another org’s pod is none to a tool, and a machine token is none to the officer routes', async (t) => {
  const { use, as } = await setUp(t)
  const { pod } = (await use('compute.create_pod')) as { pod: Pod }
  const elsewhere = { org: { ...org, id: 2, prefix: 'org2' } }
  const action = { pod_id: pod.id, action: 'terminate' }
  await assert.rejects(use('compute.pod_action', action, elsewhere), { kind: 'not_found' })
  const machine = as({ org, caller: { kind: 'machine', ...caller } })
  const refused = await machine.call(createPod, { params: { org: 'org1' }, body: {} })
  assert.equal(refused.status, 403)
})
