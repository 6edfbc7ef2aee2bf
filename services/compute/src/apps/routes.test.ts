import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  deleteApp,
  deployApp,
  getApp,
  getAppPod,
  listApps,
  listDeployments,
  putApp,
  rollBackApp,
} from '@guildhall/contracts/apps'
import {
  deployOrgApp,
  getOrgAppPod,
  listOrgApps,
  putOrgApp,
} from '@guildhall/contracts/apps-dashboard'
import { actOnPod, listPods } from '@guildhall/contracts/compute'
import { OFFICER, officer } from '../testing.ts'
import { ci, params, SITE, testApps } from './testing-apps.ts'

const SECRET = 'correct "horse" battery'

test('a manifest is taken by its rules alone, each fault with its place', async (t) => {
  const apps = await testApps(t)
  const wrong: [object, string][] = [
    [{ imagee: 'x' }, '/body/manifest/imagee'],
    [{ health: { port: 8080, path: '/', every: 1 } }, '/body/manifest/health/every'],
    [{ image: 'ghcr.io/club/site:v1' }, '/body/manifest/image'],
    [{ image: 'ghcr.io/club/site@sha256:00' }, '/body/manifest/image'],
    [{ gpu: { id: 'NVIDIA RTX A4000' } }, '/body/manifest/cpu'],
    [{ cpu: undefined }, '/body/manifest/gpu'],
    [{ health: undefined }, '/body/manifest/health'],
    [{ health: { port: 9000, path: '/' } }, '/body/manifest/health/port'],
    [{ ports: ['8080/http', '9090'] }, '/body/manifest/ports/1'],
    [{ ports: ['8080/http', '70000/http'] }, '/body/manifest/ports/1'],
    [{ env: { CLI_POD_RECORD: 'x' } }, '/body/manifest/env/CLI_POD_RECORD'],
    [{ secret_env: { KEY: 'podhost_api_key' } }, '/body/manifest/secret_env/KEY'],
    [{ env: { KEY: 'x' }, secret_env: { KEY: 'app_key' } }, '/body/manifest/secret_env/KEY'],
    [{ mounts: { persistent: { size: 20, path: '/data' } } }, '/body/manifest/mounts/persistent'],
    [{ url: 'http://club.example' }, '/body/manifest/url'],
  ]
  for (const [changes, path] of wrong) {
    const body = { manifest: { ...SITE, ...changes } }
    const refused = await apps.ci.call(putApp, { params, body })
    assert.ok(refused.status === 400, JSON.stringify(changes))
    assert.deepEqual(
      refused.body.details?.map((one) => one.path),
      [path],
    )
  }
  const { health: _, ports: __, ...bare } = SITE
  const bot = { ...bare, kind: 'bot' as const, image: 'registry.club.example:5000/bot' }
  const made = await apps.ci.call(putApp, { params, body: { manifest: bot } })
  assert.equal(made.status, 201)
  assert.equal((await apps.ci.call(putApp, { params, body: { manifest: bot } })).status, 200)
  for (const body of [{}, { manifest: bot, repo: 'a/b' }, { manifest_path: 'a.json' }])
    assert.equal((await apps.ci.call(putApp, { params, body })).status, 400)
})

test('values of secrets reach the pod and stand nowhere else', async (t) => {
  const apps = await testApps(t)
  await apps.register({ env: { MODE: 'live' }, secret_env: { TOKEN: 'app_token' } })
  const deploy = (body: object = {}) =>
    apps.ci.call(deployApp, { params, body: { tag: 'v1', ...body } })
  const unset = await deploy()
  assert.ok(unset.status === 409 && unset.body.error.includes('app_token'))
  apps.ownSecrets.app_token = SECRET
  const dry = await deploy({ dry_run: true })
  assert.ok(dry.status === 200)
  const { env } = dry.body.pod as { env: Record<string, string> }
  assert.deepEqual([env.MODE, env.TOKEN, (await apps.pods()).length], ['live', '***', 0])
  const done = await deploy()
  assert.equal((await apps.pods())[0]?.env.TOKEN, SECRET)
  const seen = [dry, done, await apps.ci.call(getApp, { params }), await apps.deployments()]
  const { db } = apps
  const rows = await Promise.all([
    db.selectFrom('apps').selectAll().execute(),
    db.selectFrom('deployments').selectAll().execute(),
    db.selectFrom('pods').selectAll().execute(),
    db.selectFrom('outbox').selectAll().execute(),
    db.selectFrom('idempotency_keys').selectAll().execute(),
  ])
  assert.ok(!JSON.stringify([seen, rows]).includes('battery'))
})

test('a manifest in a repository is read at each deploy, a private one with the own token alone', async (t) => {
  const CODEHOST_TOKEN = 'token-of-the-deployment'
  const apps = await testApps(t, { CODEHOST_TOKEN })
  apps.sandboxWorld.keys.codeHost = CODEHOST_TOKEN
  const [main, old] = ['a'.repeat(40), 'b'.repeat(40)]
  const repo = {
    name: 'club/site',
    private: true,
    default_branch: 'main',
    refs: { main, 'releases/1': old } as Record<string, string>,
    files: {
      [main]: { 'deploy/app.json': JSON.stringify(SITE) },
      [old]: { 'deploy/app.json': JSON.stringify({ ...SITE, image: 'ghcr.io/club/old' }) },
    } as Record<string, Record<string, string>>,
  }
  apps.sandboxWorld.repos.push(repo)
  const put = (manifest_path = 'deploy/app.json', name = repo.name) =>
    apps.ci.call(putApp, { params, body: { repo: name, manifest_path } })
  const code = async (reply: ReturnType<typeof put>) => {
    const { body } = await reply
    return 'code' in body ? body.code : 'taken'
  }
  assert.equal(await code(put()), 'repo.not_found', 'the token of the deployment opens none')
  apps.ownSecrets.github_token = apps.sandboxWorld.keys.codeHost
  assert.equal(await code(put()), 'taken')
  repo.private = false
  assert.equal(await code(put()), 'taken')
  assert.equal(await code(put('other.json')), 'repo.file_not_found')
  assert.equal(await code(put('../secrets')), 'request.invalid')
  assert.equal(await code(put('app.json', 'club/none')), 'repo.not_found')
  apps.ownSecrets.github_token = 'wrong'
  assert.equal(await code(put('app.json', 'club/none')), 'codehost.token_refused')

  const dry = async (ref?: string) => {
    const body = { tag: 'v1', dry_run: true, ...(ref && { ref }) }
    const reply = await apps.ci.call(deployApp, { params, body })
    if (reply.status === 200) return [reply.body.commit, reply.body.pod.image]
    return 'code' in reply.body ? reply.body.code : reply.status
  }
  assert.deepEqual(await dry(), [main, 'ghcr.io/club/site:v1'])
  assert.deepEqual(await dry('releases/1'), [old, 'ghcr.io/club/old:v1'])
  assert.equal(await dry('nowhere'), 'repo.ref_not_found')
  for (const [text, said] of [
    ['{', 'app.manifest_not_json'],
    [JSON.stringify({ ...SITE, image: 'site:v1' }), 'app.manifest_invalid'],
    [JSON.stringify({ ...SITE, description: '\0' }), 'request.nul'],
  ] as const) {
    repo.files[main] = { 'deploy/app.json': text }
    assert.equal(await dry(), said)
  }
  repo.refs.main = old
  assert.deepEqual(await dry(), [old, 'ghcr.io/club/old:v1'])
})

test('officers do the same from the dashboard, and another org has no such app', async (t) => {
  const apps = await testApps(t)
  const asOfficer = apps.as(officer())
  const mirror = { params: { org: 'org1', name: 'site' } }
  const made = await asOfficer.call(putOrgApp, { ...mirror, body: { manifest: SITE } })
  assert.equal(made.status, 201)
  const done = await asOfficer.call(deployOrgApp, { ...mirror, body: { tag: 'v1' } })
  assert.ok(done.status === 202)
  assert.equal(done.body.deployment.created_by, OFFICER)
  const pod = await asOfficer.call(getOrgAppPod, mirror)
  assert.ok(pod.status === 200 && pod.body.pod.id === done.body.pod_id)
  const list = await asOfficer.call(listOrgApps, { params: { org: 'org1' } })
  assert.ok(list.status === 200)
  assert.deepEqual(
    list.body.apps.map(({ name }) => name),
    ['site'],
  )

  const other = apps.as(ci(2))
  const theirs = await other.call(listApps, {})
  assert.ok(theirs.status === 200)
  assert.deepEqual(theirs.body.apps, [])
  const replies = await Promise.all([
    other.call(getApp, { params }),
    other.call(listDeployments, { params }),
    other.call(getAppPod, { params }),
    other.call(deleteApp, { params }),
    other.call(deployApp, { params, body: { tag: 'v1' } }),
    other.call(rollBackApp, { params, body: {} }),
  ])
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([404]))
})

test('a deleted app leaves its pod to the officers, and a terminated pod is made anew', async (t) => {
  const apps = await testApps(t)
  await apps.register()
  const deploy = (tag: string) => apps.ci.call(deployApp, { params, body: { tag } })
  const first = await deploy('v1')
  assert.ok(first.status === 202)
  const asOfficer = apps.as(officer())
  await apps.register({ cpu: { id: 'cpu3g', vcpuCount: 4 } })
  const other = await deploy('v2')
  assert.ok(other.status === 409 && other.body.code === 'app.machine_changed')
  const pod = { org: 'org1', pod_id: first.body.pod_id ?? '' }
  await asOfficer.call(actOnPod, { params: pod, body: { action: 'terminate' } })
  assert.equal((await apps.ci.call(getAppPod, { params })).status, 404)
  const second = await deploy('v2')
  assert.ok(second.status === 202 && second.body.pod_id !== pod.pod_id)

  const deleted = await apps.ci.call(deleteApp, { params })
  assert.ok(deleted.status === 200)
  assert.ok(deleted.body.message.includes(second.body.pod_id ?? '-'))
  assert.equal((await apps.ci.call(getApp, { params })).status, 404)
  const pods = await asOfficer.call(listPods, { params: { org: 'org1' } })
  assert.ok(pods.status === 200)
  assert.deepEqual(
    pods.body.pods.map(({ id }) => id),
    [second.body.pod_id],
  )
})
