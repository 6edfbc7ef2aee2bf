import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { firstErrorOf } from '@guildhall/bus/testing'
import { createPod } from '@guildhall/contracts/compute'
import { endPods, purgeOrgOf } from '@guildhall/contracts/orgs'
import { madePod, officer, runningPodOf, testCompute, testOnPods } from '../testing.ts'

test('pods that run are terminated before an org is purged, also one whose making was never answered', async (t) => {
  const compute = await testOnPods(t)
  await runningPodOf(compute)
  compute.sandbox.world.faults = { podhost: 'wrong_body' }
  const lost = await compute.as(officer()).call(createPod, { params: { org: 'org1' }, body: {} })
  assert.equal(lost.status, 502)
  compute.sandbox.world.faults = {}
  const authorization = `Bearer ${compute.sandbox.world.keys.podhost}`
  const onHost = async () => {
    const reply = await fetch(`${compute.sandbox.podhostUrl}/pods`, { headers: { authorization } })
    return ((await reply.json()) as { pods: unknown[] }).pods.length
  }
  assert.equal(await onHost(), 2)
  const end = () => ask(compute.auth, endPods, { org_id: 1 })
  assert.deepEqual(await end(), { left: [], reason: null })
  assert.deepEqual(await end(), { left: [], reason: null })
  assert.equal(await onHost(), 0)
})

test('pods that cannot be terminated are named with the reason, and ended when it is asked again', async (t) => {
  const compute = await testCompute(t)
  const pods = [await madePod(compute), await madePod(compute), await madePod(compute)]
  const failing = { at: 'DELETE /v2/pods/:id', fault: 'failing' as const }
  const end = () => ask(compute.auth, endPods, { org_id: 1 })
  compute.world.faults.push(failing, failing, failing)
  const { left, reason } = await end()
  assert.deepEqual(
    left,
    pods.map(({ name, id }) => `${name} (${id})`),
  )
  assert.match(reason ?? '', /did not say clearly/)
  compute.world.faults.length = 0
  assert.deepEqual(await end(), { left: [], reason: null })
  assert.equal(compute.world.pods.size, 0)
})

test('a purge deletes what is kept of the org and may be repeated', async (t) => {
  const compute = await testCompute(t)
  await madePod(compute)
  await compute.db.insertInto('settings').values({ org_id: 2, pod_image: 'kept' }).execute()
  const purge = () => ask(compute.auth, purgeOrgOf('compute'), { org_id: 1 })
  await ask(compute.auth, endPods, { org_id: 1 })
  await purge()
  await purge()
  for (const table of ['pods', 'org_keys', 'certificates', 'user_folders'] as const)
    assert.deepEqual(await compute.db.selectFrom(table).selectAll().execute(), [], table)
  assert.equal((await compute.db.selectFrom('settings').selectAll().execute()).length, 1)
})

test('pods that a purge leaves are an error of no org: the errors of the org are deleted with it', async (t) => {
  const compute = await testCompute(t)
  await madePod(compute)
  await ask(compute.auth, purgeOrgOf('compute'), { org_id: 1 })
  const url = compute.settings.NATS_URL
  const { org_id, message } = await firstErrorOf(t, { url, peer: 'compute' })
  assert.match(message, /^Terminate these pods of a purged org/)
  assert.equal(org_id, null)
})
