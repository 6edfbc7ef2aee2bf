import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { deployApp, getAppPod, listDeployments, putApp } from '@guildhall/contracts/apps'
import { getPod } from '@guildhall/contracts/compute'
import { officer, testCompute } from '../testing.ts'
import { ci, params, SITE } from './testing-apps.ts'

const SECRET = 'sk_live_0123456789abcdef'

async function withApp(t: TestContext) {
  const compute = await testCompute(t)
  compute.ownSecrets.app_token = SECRET
  const as = compute.as(ci())
  const manifest = { ...SITE, secret_env: { TOKEN: 'app_token' } }
  assert.equal((await as.call(putApp, { params, body: { manifest } })).status, 201)
  return { ...compute, ci: as }
}

test('a secret that a long refusal of the host ends with is not shown in part either', async (t) => {
  const { world, ci: as } = await withApp(t)
  world.faults.push({ at: 'POST /v2/pods', fault: 'quotes' })
  const refused = await as.call(deployApp, { params, body: { tag: 'v1' } })
  assert.ok(refused.status === 400, JSON.stringify(refused.body))
  const told = await as.call(listDeployments, { params })
  for (const text of [refused.body.error, JSON.stringify(told.body)]) {
    assert.match(text, /-{490}\*\*\*/)
    assert.ok(!text.includes(SECRET.slice(0, 4)), text)
  }
})

test("the host's log of an app's pod is told without the values of secrets", async (t) => {
  const { world, ci: as, ...compute } = await withApp(t)
  const deployed = await as.call(deployApp, { params, body: { tag: 'v1' } })
  assert.ok(deployed.status === 202)
  const pod_id = deployed.body.pod_id ?? assert.fail()
  Object.assign(world.pods.get(pod_id) ?? {}, { status: 'ERROR' })
  const seen = [
    await as.call(getAppPod, { params }),
    await compute.as(officer()).call(getPod, { params: { org: 'org1', pod_id } }),
  ]
  for (const reply of seen) {
    assert.ok(reply.status === 200)
    const { warning = '' } = reply.body.pod
    assert.match(warning, /its log there ends with: cannot run it with .*"TOKEN":"\*\*\*"/)
    assert.ok(!warning.includes(SECRET), warning)
  }
})
