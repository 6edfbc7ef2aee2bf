import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  actOnPod,
  changePodAccess,
  createPod,
  getComputeSettings,
  getPod,
  listPods,
  putComputeSettings,
} from '@guildhall/contracts/compute'
import { until } from '@guildhall/service/testing'
import { madePod, OFFICER, officer, type TestCompute, testCompute } from '../testing.ts'

const org = { params: { org: 'org1' } }
const at = (pod_id: string) => ({ params: { org: 'org1', pod_id } })

/** The actions of all audit lines. */
async function says({ db }: TestCompute) {
  const rows = await db.selectFrom('outbox').select('payload').execute()
  return rows.map(({ payload }) => (payload as unknown as { action: string }).action)
}

test('a pod has the defaults, carries its record and the keys of the org, and speaks as the host describes', async (t) => {
  const compute = await testCompute(t)
  const pod = await madePod(compute)
  assert.match(pod.name, /^pod-[0-9a-f]{8}$/)
  assert.deepEqual(pod.machine, {
    image_name: 'guildhall/pod:1',
    gpu: { id: 'NVIDIA RTX A4000', count: 1 },
    cpu: null,
    cloud_type: 'COMMUNITY',
    volume_in_gb: 20,
    volume_mount_path: '/workspace',
    container_disk_in_gb: 20,
  })
  const { pod_id, id, status, is_public, allowed_users, created_by, cost_per_hour, port } = pod
  assert.deepEqual([id, status, is_public, allowed_users], [pod_id, 'RUNNING', false, []])
  assert.deepEqual([created_by, cost_per_hour, port], [OFFICER, 0.25, compute.world.ssh.port])
  assert.deepEqual([pod.host_key, pod.warning], [null, undefined])
  const { env } = compute.world.pods.get(pod_id) as unknown as { env: Record<string, string> }
  const rows = await compute.db.selectFrom('pods').selectAll().execute()
  assert.equal(env.CLI_POD_RECORD, rows[0]?.id)
  for (const name of ['CLI_SSH_PUBLIC_KEY', 'CLI_SSH_CA_PUBLIC_KEY'])
    assert.match(env[name] ?? '', /^ssh-ed25519 [\w+/]{68}$/)
  assert.equal(env.CLI_WORKSPACE, undefined)
  assert.notEqual(env.CLI_SSH_PUBLIC_KEY, env.CLI_SSH_CA_PUBLIC_KEY)
  if (!compute.world.checked) t.diagnostic('The official description is not on this machine')
  assert.deepEqual(compute.world.wrong, [])
})

test('a CPU pod has no volume and says so; values that do not go together are refused', async (t) => {
  const compute = await testCompute(t)
  const pod = await madePod(compute, { use_cpu_only: true, name: 'small', env: { A: 'b' } })
  assert.deepEqual(pod.machine.cpu, { id: 'cpu3c', vcpu_count: 2 })
  assert.equal(pod.machine.gpu, null)
  assert.match(pod.warning ?? '', /volume/)
  assert.match((await madePod(compute, { volume_in_gb: 0 })).warning ?? '', /volume/)
  const bad = [
    { use_cpu_only: true, gpu_type_id: 'NVIDIA A40' },
    { use_cpu_only: true, volume_in_gb: 20 },
    { cpu_flavor: 'cpu5c' },
    { env: { CLI_SETUP: 'rm -rf /' } },
    { volume_in_gb: 9 },
    { volume_in_gb: 2001 },
    { container_disk_in_gb: 0 },
    { container_disk_in_gb: 501 },
    { cloud_type: 'MINE' },
    { volume_mount_path: 'workspace' },
    { volume_mount_path: '/a/../etc' },
  ]
  for (const body of bad) {
    const reply = await compute.as(officer()).call(createPod, { ...org, body: body as object })
    assert.equal(reply.status, 400, JSON.stringify(body))
  }
  assert.equal(compute.world.pods.size, 2)
  assert.deepEqual(compute.world.wrong, [])
})

test('a pod whose volume lies elsewhere is told where: else homes and host key were wiped at each stop', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute, { volume_mount_path: '/data' })
  const { mounts, env } = compute.world.pods.get(id) as unknown as Record<string, object>
  assert.deepEqual(mounts, { persistent: { size: 20, path: '/data' } })
  assert.partialDeepStrictEqual(env, { CLI_WORKSPACE: '/data' })
})

test("the image is the body's, else the org's, else the deployment's, else 503", async (t) => {
  const compute = await testCompute(t, { COMPUTE_POD_IMAGE: '' })
  const client = compute.as(officer())
  const refused = await client.call(createPod, { ...org, body: {} })
  assert.ok(refused.status === 503 && refused.body.code === 'compute.image_unset')
  const set = await client.call(putComputeSettings, { ...org, body: { pod_image: 'org/image:2' } })
  const settings = { pod_image: 'org/image:2', deployment_pod_image: null }
  assert.deepEqual(set.body, { settings })
  assert.deepEqual((await client.call(getComputeSettings, org)).body, { settings })
  assert.equal((await madePod(compute)).machine.image_name, 'org/image:2')
  const own = await madePod(compute, { image_name: 'own/image@sha256:aa' })
  assert.equal(own.machine.image_name, 'own/image@sha256:aa')
})

test('without a key of the pod host, or without SECRETS_KEY, it says what to set', async (t) => {
  const compute = await testCompute(t)
  compute.secrets.delete(1)
  const unset = await compute.as(officer()).call(createPod, { ...org, body: {} })
  assert.ok(unset.status === 503 && unset.body.code === 'podhost.not_connected')
  const without = await testCompute(t, { SECRETS_KEY: '' })
  const sealed = await without.as(officer()).call(createPod, { ...org, body: {} })
  assert.ok(sealed.status === 503 && sealed.body.code === 'secrets_key.unset')
  assert.equal(without.world.pods.size, 0)
})

test('ten who make the first pod at once get the same keys, and private keys lie sealed', async (t) => {
  const compute = await testCompute(t)
  await Promise.all(Array.from({ length: 10 }, () => madePod(compute)))
  const cas = [...compute.world.pods.values()].map(
    (pod) => (pod as unknown as { env: Record<string, string> }).env.CLI_SSH_CA_PUBLIC_KEY,
  )
  assert.equal(new Set(cas).size, 1)
  const keys = await compute.db.selectFrom('org_keys').selectAll().execute()
  assert.equal(keys.length, 2)
  for (const { sealed_private_key } of keys) assert.match(sealed_private_key, /^v1\./)
})

test('lists are live, paged and of the own org; a host that is silent leaves UNKNOWN', async (t) => {
  const compute = await testCompute(t)
  const client = compute.as(officer())
  const made = [await madePod(compute), await madePod(compute), await madePod(compute)]
  const first = await client.call(listPods, { ...org, query: { limit: '2' } })
  assert.ok(first.status === 200)
  const cursor = first.body.next_cursor ?? assert.fail()
  const second = await client.call(listPods, { ...org, query: { limit: '2', cursor } })
  assert.ok(second.status === 200)
  const ids = [...first.body.pods, ...second.body.pods].map(({ id }) => id)
  assert.deepEqual(ids, made.map(({ id }) => id).reverse())
  compute.world.pods.delete(made[0]?.id ?? '')
  const gone = await client.call(getPod, at(made[0]?.id ?? ''))
  assert.ok(gone.status === 200 && gone.body.pod.status === 'GONE')
  const foreign = await compute.as(officer(2)).call(getPod, at(made[1]?.id ?? ''))
  assert.equal(foreign.status, 404)
  compute.world.faults.push(
    ...Array.from({ length: 3 }, () => ({ at: 'GET /v2/pods', fault: 'failing' as const })),
  )
  const silent = await client.call(getPod, at(made[1]?.id ?? ''))
  assert.ok(silent.status === 200)
  assert.deepEqual([silent.body.pod.status, silent.body.pod.host], ['UNKNOWN', null])
})

test('access is changed by either field; actions move the pod, and terminate removes it', async (t) => {
  const compute = await testCompute(t)
  const client = compute.as(officer())
  const { id } = await madePod(compute)
  const put = (body: object) => client.call(changePodAccess, { ...at(id), body })
  assert.equal((await put({})).status, 400)
  await put({ allowed_users: ['30003', '30003'] })
  const both = await put({ is_public: true })
  assert.ok(both.status === 200)
  assert.deepEqual([both.body.pod.is_public, both.body.pod.allowed_users], [true, ['30003']])
  const act = (action: 'start' | 'stop' | 'restart' | 'terminate') =>
    client.call(actOnPod, { ...at(id), body: { action } })
  assert.deepEqual((await act('stop')).body, { id, action: 'stop', status: 'EXITED' })
  const stops = async () => (await says(compute)).filter((said) => said === 'compute.pod.stopped')
  assert.deepEqual((await act('stop')).body, { id, action: 'stop', status: 'EXITED' })
  assert.equal((await stops()).length, 1, 'what changed nothing is not written')
  assert.deepEqual((await act('start')).body, { id, action: 'start', status: 'RUNNING' })
  assert.deepEqual((await act('restart')).body, { id, action: 'restart', status: 'RUNNING' })
  assert.deepEqual((await act('terminate')).body, { id, action: 'terminate', status: 'TERMINATED' })
  assert.equal(compute.world.pods.size, 0)
  assert.equal((await act('terminate')).status, 404)
  const audited = await until(async () => {
    const actions = await says(compute)
    return actions.includes('compute.pod.terminated') && actions
  })
  for (const did of ['created', 'access_changed', 'stopped', 'started', 'restarted'])
    assert.ok(audited.includes(`compute.pod.${did}`), did)
  assert.deepEqual(compute.world.wrong, [])
})
