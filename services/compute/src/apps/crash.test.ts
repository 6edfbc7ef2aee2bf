import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { deployApp } from '@guildhall/contracts/apps'
import { endPods, purgeOrgOf } from '@guildhall/contracts/orgs'
import { cleanUp, clientAs, until } from '@guildhall/service/testing'
import { ci, params, type TestApps, testApps } from './testing-apps.ts'

const MINUTE_MS = 60_000
type World = TestApps['sandboxWorld']
type Faults = World['faults']

/** Deploys in a process of its own, which is killed when the deployment is committed and `at` has come. */
async function killedDeploy(t: TestContext, apps: TestApps, at: () => boolean) {
  const child = spawn(process.execPath, [new URL('../main.ts', import.meta.url).pathname], {
    env: { ...apps.settings },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  cleanUp(t, async () => child.kill('SIGKILL'))
  let url: string | undefined
  for await (const line of createInterface(child.stdout)) {
    url = (JSON.parse(line) as { url?: string }).url
    if (url) break
  }
  const client = clientAs(url ?? assert.fail(), apps.settings.INTERNAL_KEY, ci())
  const sent = client.call(deployApp, { params, body: { tag: 'v1' } })
  const lost = assert.rejects(sent)
  await until(async () => (await apps.states()).length === 1 && at())
  child.kill('SIGKILL')
  await Promise.all([lost, once(child, 'exit')])
}

async function afterKill(t: TestContext, faults: Faults, at: (world: World) => boolean) {
  const apps = await testApps(t)
  await apps.register()
  Object.assign(apps.sandboxWorld.faults, faults)
  await killedDeploy(t, apps, () => at(apps.sandboxWorld))
  apps.sandboxWorld.faults.podhost = undefined
  assert.deepEqual(await apps.states(), ['v1 deploying'])
  return apps
}

test('a deploy whose process is killed while the host makes the pod is finished by another', async (t) => {
  const apps = await afterKill(
    t,
    { podhost: 'slow', podhostSlowMs: 1_500 },
    (world) => world.podhostHeld === 1,
  )
  await apps.running()
  apps.clock.ahead = 2 * MINUTE_MS
  await apps.check()
  await apps.check()
  assert.deepEqual([await apps.states(), await apps.tag()], [['v1 healthy'], 'v1'])
  assert.equal((await apps.pods()).length, 1)
})

test('a deploy whose process is killed before the host heard of it fails with its reason and blocks nothing', async (t) => {
  const apps = await afterKill(
    t,
    { podhost: 'rate_limited', podhostRetryAfterSeconds: 5 },
    () => true,
  )
  apps.clock.ahead = 2 * MINUTE_MS
  await apps.check()
  assert.deepEqual(await apps.states(), ['v1 deploying'], 'the host may still show the pod')
  apps.clock.ahead = 15 * MINUTE_MS
  await apps.check()
  const [failed] = await apps.deployments()
  assert.deepEqual(
    [failed?.state, failed?.error],
    ['failed', 'The pod host did not take the deployment'],
  )
  const again = await apps.ci.call(deployApp, { params, body: { tag: 'v2' } })
  assert.equal(again.status, 202)
  assert.equal((await apps.pods()).length, 1)
})

test('two replicas that deploy one app at once give the host one pod', async (t) => {
  const apps = await testApps(t)
  await apps.register()
  const second = (await apps.replica())(ci())
  Object.assign(apps.sandboxWorld.faults, { podhost: 'slow', podhostSlowMs: 1_000 })
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      (n % 2 ? second : apps.ci).call(deployApp, { params, body: { tag: `v${n}` } }),
    ),
  )
  const counts = Map.groupBy(replies, ({ status }) => status)
  assert.deepEqual([counts.get(202)?.length, counts.get(409)?.length], [1, 9])
  apps.sandboxWorld.faults.podhost = undefined
  assert.equal((await apps.pods()).length, 1)
})

test('a purge takes the apps of an org, their deployments and their pods', async (t) => {
  const apps = await testApps(t)
  await apps.register()
  assert.equal((await apps.ci.call(deployApp, { params, body: { tag: 'v1' } })).status, 202)
  const purge = () => ask(apps.auth, purgeOrgOf('compute'), { org_id: 1 })
  assert.deepEqual((await ask(apps.auth, endPods, { org_id: 1 })).left, [])
  await purge()
  await purge()
  for (const table of ['apps', 'deployments', 'pods'] as const)
    assert.deepEqual(await apps.db.selectFrom(table).selectAll().execute(), [], table)
  assert.deepEqual(await apps.pods(), [])
  await apps.check()
})
