import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deployApp, listDeployments, putApp } from '@guildhall/contracts/apps'
import { testCompute } from '../testing.ts'
import { ci, params, SITE } from './testing-apps.ts'

const SECRET = 'sk_live_0123456789abcdef'

test('a secret that a long refusal of the host ends with is not shown in part either', async (t) => {
  const compute = await testCompute(t)
  compute.ownSecrets.app_token = SECRET
  const as = compute.as(ci())
  const manifest = { ...SITE, secret_env: { TOKEN: 'app_token' } }
  assert.equal((await as.call(putApp, { params, body: { manifest } })).status, 201)
  compute.world.faults.push({ at: 'POST /v2/pods', fault: 'quotes' })
  const refused = await as.call(deployApp, { params, body: { tag: 'v1' } })
  assert.ok(refused.status === 400, JSON.stringify(refused.body))
  const told = await as.call(listDeployments, { params })
  for (const text of [refused.body.error, JSON.stringify(told.body)]) {
    assert.match(text, /-{490}\*\*\*/)
    assert.ok(!text.includes(SECRET.slice(0, 4)), text)
  }
})
