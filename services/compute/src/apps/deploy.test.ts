import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deployApp, getAppPod, rollBackApp } from '@guildhall/contracts/apps'
import { ci, params, type TestApps, testApps } from './testing-apps.ts'

const MINUTE_MS = 60_000

const deploy = ({ ci: as }: TestApps, tag: string, more: object = {}) =>
  as.call(deployApp, { params, body: { tag, ...more } })

test('a deploy makes a pod, the next one changes it, and the tag moves once it is healthy', async (t) => {
  const apps = await testApps(t)
  await apps.register()
  const first = await deploy(apps, 'v1')
  assert.ok(first.status === 202)
  const [pod = assert.fail()] = await apps.pods()
  assert.equal(first.body.pod_id, pod.id)
  assert.equal(pod.image, 'ghcr.io/club/site:v1')
  assert.equal(await apps.tag(), null)
  await apps.running()
  await apps.check()
  assert.deepEqual([await apps.tag(), await apps.states()], ['v1', ['v1 healthy']])

  assert.equal((await deploy(apps, 'v2')).status, 202)
  const [changed, another] = await apps.pods()
  assert.deepEqual(
    [changed?.id, changed?.image, another],
    [pod.id, 'ghcr.io/club/site:v2', undefined],
  )
  await apps.running()
  await apps.check()
  assert.deepEqual(await apps.states(), ['v2 healthy', 'v1 healthy'])
  const shown = await apps.ci.call(getAppPod, { params })
  assert.ok(shown.status === 200)
  const { id, machine, created_by } = shown.body.pod
  assert.deepEqual(
    [id, machine.image_name, created_by],
    [pod.id, 'ghcr.io/club/site:v2', first.body.deployment.created_by],
  )

  const back = await apps.ci.call(rollBackApp, { params, body: {} })
  assert.ok(back.status === 202)
  assert.deepEqual([back.body.deployment.tag, back.body.deployment.rollback], ['v1', true])
  await apps.running()
  await apps.check()
  assert.equal(await apps.tag(), 'v1')
})

test('what is not healthy after 15 minutes has failed, and a roll back goes to the tag before it', async (t) => {
  const apps = await testApps(t)
  await apps.register()
  assert.equal((await apps.ci.call(rollBackApp, { params, body: {} })).status, 409)
  await deploy(apps, 'v1')
  await apps.running()
  await apps.check()
  apps.sandboxWorld.faults.appStatus = 503
  await deploy(apps, 'v2')
  await apps.running()
  await apps.check()
  assert.deepEqual(await apps.states(), ['v2 deploying', 'v1 healthy'])
  apps.clock.ahead = 15 * MINUTE_MS
  await apps.check()
  const [failed] = await apps.deployments()
  assert.equal(failed?.state, 'failed')
  assert.match(failed?.error ?? '', /\/health on port 8080 answered 503/)
  assert.equal(await apps.tag(), 'v1')
  const dry = await apps.ci.call(rollBackApp, { params, body: { dry_run: true } })
  assert.ok(dry.status === 200)
  assert.equal(dry.body.pod.image, 'ghcr.io/club/site:v1')
})

test('of ten deploys at once one is given to the host, a later one takes the place of what still waits', async (t) => {
  const apps = await testApps(t)
  await apps.register()
  const { faults } = apps.sandboxWorld
  Object.assign(faults, { podhost: 'slow', podhostSlowMs: 1_000 })
  const replies = await Promise.all(Array.from({ length: 10 }, (_, n) => deploy(apps, `v${n}`)))
  const codes = replies.map((reply) => ('code' in reply.body ? reply.body.code : reply.status))
  assert.deepEqual(codes.map(String).sort(), [
    '202',
    ...Array.from({ length: 9 }, () => 'app.busy'),
  ])
  faults.podhost = undefined
  assert.equal((await apps.pods()).length, 1)
  assert.equal((await deploy(apps, 'next')).status, 202)
  const [next, before] = await apps.states()
  assert.equal(next, 'next deploying')
  assert.match(before ?? '', /replaced$/)
})

test('ten requests with one Idempotency-Key deploy once, and a refusal by the host frees the key', async (t) => {
  const apps = await testApps(t)
  await apps.register()
  const as = apps.as(ci(), { 'idempotency-key': 'k1' })
  const send = () => as.call(deployApp, { params, body: { tag: 'v1' } })
  apps.sandboxWorld.faults.podhost = 'no_capacity'
  const refused = await send()
  assert.ok(refused.status === 400 && refused.body.error.includes('no instances'))
  assert.deepEqual([(await apps.pods()).length, await apps.states()], [0, ['v1 failed']])
  apps.sandboxWorld.faults.podhost = undefined
  const replies = await Promise.all(Array.from({ length: 10 }, send))
  const ids = replies.map((reply) => reply.status === 202 && reply.body.deployment.id)
  assert.deepEqual([new Set(ids).size, (await apps.pods()).length], [1, 1])
})

test('a pod whose making was answered 500 is found by its record, and an org that is off is left alone', async (t) => {
  const apps = await testApps(t)
  await apps.register()
  apps.sandboxWorld.faults.podhost = 'fails_after_create'
  const found = await deploy(apps, 'v1')
  assert.equal(found.status, 202)
  apps.sandboxWorld.faults.podhost = undefined
  assert.equal((await apps.pods()).length, 1)
  await apps.running()
  const { org } = apps.directory
  apps.clock.ahead = 20 * MINUTE_MS
  for (const off of [null, { ...(org ?? assert.fail()), modules: ['compute'] }]) {
    apps.directory.org = off
    await apps.check()
    assert.deepEqual(await apps.states(), ['v1 deploying'])
  }
  apps.directory.org = org
  await apps.check()
  assert.deepEqual(await apps.states(), ['v1 healthy'])
})
