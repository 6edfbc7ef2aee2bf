import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteApp, deployApp, getApp, putApp, rollBackApp } from '@guildhall/contracts/apps'
import { deployOrgApp } from '@guildhall/contracts/apps-dashboard'
import { officer } from '../testing.ts'
import { params, SITE, testApps } from './testing-apps.ts'

const path = 'deploy/app.json'

test('a machine token that is limited to some repositories touches no app of another', async (t) => {
  const apps = await testApps(t)
  const main = 'a'.repeat(40)
  for (const name of ['club/site', 'club/other'])
    apps.sandboxWorld.repos.push({
      ...{ name, private: false, default_branch: 'main', refs: { main } },
      files: { [main]: { [path]: JSON.stringify(SITE) } },
    })
  const { ci } = apps
  const put = (repo: string) => ci.call(putApp, { params, body: { repo, manifest_path: path } })
  const deploy = () => ci.call(deployApp, { params, body: { tag: 'v1', dry_run: true } })
  assert.equal((await put('club/other')).status, 201)

  apps.limits.code_host = { repos: ['club/site'] }
  const inline = () => ci.call(putApp, { params, body: { manifest: SITE } })
  const roll = () => ci.call(rollBackApp, { params, body: { dry_run: true } })
  const remove = () => ci.call(deleteApp, { params })
  for (const refused of [
    deploy,
    roll,
    inline,
    remove,
    () => put('club/other'),
    () => put('club/site'),
  ]) {
    const { status, body } = await refused()
    assert.deepEqual([status, 'code' in body && body.code], [403, 'token.repo_not_allowed'])
  }
  const kept = await ci.call(getApp, { params })
  assert.equal(kept.status === 200 && kept.body.repo, 'club/other')

  const mirror = { params: { org: 'org1', name: 'site' }, body: { tag: 'v1', dry_run: true } }
  assert.equal((await apps.as(officer()).call(deployOrgApp, mirror)).status, 200, 'officers may')
  apps.limits.code_host = { repos: ['club/*'] }
  assert.equal((await put('club/site')).status, 200)
  assert.equal((await deploy()).status, 200)
  apps.limits.code_host = { repos: [] }
  assert.equal((await deploy()).status, 403)
})
