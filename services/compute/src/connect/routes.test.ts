import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptHostKey, actOnPod, changePodAccess, getPod } from '@guildhall/contracts/compute'
import { connectToPod, listMyPods } from '@guildhall/contracts/connect'
import { until } from '@guildhall/service/testing'
import {
  MEMBER,
  madePod,
  member,
  OFFICER,
  officer,
  type TestCompute,
  testCompute,
} from '../testing.ts'
import { openSsh } from '../testing-openssh.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHcWQ6mQn5vUDGwsO4j1bZbrbzU1CLsGBrRFYOkLRSxM'
const at = (pod_id: string) => ({ params: { org: 'org1', pod_id } })

const connect = ({ as }: TestCompute, pod: string, who = member(), public_key = KEY) =>
  as(who).call(connectToPod, { ...at(pod), body: { public_key } })

async function connected(compute: TestCompute, pod: string, who = member()) {
  const reply = await connect(compute, pod, who)
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

test('a member gets a certificate that leads to their own account, an officer one that is root', async (t) => {
  const [compute, ssh] = [await testCompute(t), await openSsh(t)]
  const { id } = await madePod(compute, { allowed_users: [MEMBER] })
  const given = await connected(compute, id)
  const { host, port, key } = compute.world.ssh
  assert.deepEqual([given.host, given.port, given.username], [host, port, 'root'])
  assert.deepEqual([given.user_folder, given.is_admin], ['ada', false])
  assert.equal(given.known_hosts, `[${host}]:${port} ${key}`)
  const said = await ssh.read(given.certificate)
  for (const line of [
    `cp-${id}`,
    'force-command /usr/local/bin/compute-login ada',
    `Key ID: "chat:${MEMBER}:ada"`,
  ])
    assert.ok(said.includes(line), said.join('\n'))
  assert.ok(!said.includes('permit-agent-forwarding'))
  const root = await connected(compute, id, member(OFFICER, 'grace'))
  assert.equal(root.is_admin, true)
  const rootSaid = await ssh.read(root.certificate)
  assert.ok(
    rootSaid.includes('permit-agent-forwarding') && rootSaid.includes('Critical Options: (none)'),
  )
  const rows = await compute.db.selectFrom('certificates').selectAll().orderBy('serial').execute()
  assert.deepEqual(
    rows.map(({ is_admin }) => is_admin),
    [false, true],
  )
  const [row = assert.fail()] = rows
  const seconds = (row.valid_before.getTime() - row.valid_after.getTime()) / 1000
  assert.equal(seconds, 12 * 3_600 + 300)
  assert.ok(said.includes(`Serial: ${row.serial}`))
})

test('a pod that is not shared with the member is a 404; one that does not run a 409', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute)
  assert.equal((await connect(compute, id)).status, 404)
  const mine = async () => {
    const reply = await compute.as(member()).call(listMyPods, { params: { org: 'org1' } })
    assert.ok(reply.status === 200)
    return reply.body.pods.map((pod) => pod.pod_id)
  }
  assert.deepEqual(await mine(), [])
  const client = compute.as(officer())
  await client.call(changePodAccess, { ...at(id), body: { is_public: true } })
  assert.deepEqual(await mine(), [id])
  assert.equal((await connect(compute, id, member(MEMBER, 'ada', 2))).status, 404)
  const bad = await connect(compute, id, member(), `${KEY}\n${KEY}`)
  assert.ok(bad.status === 400 && bad.body.code === 'public_key.many')
  await client.call(actOnPod, { ...at(id), body: { action: 'stop' } })
  const stopped = await connect(compute, id)
  assert.ok(stopped.status === 409 && stopped.body.code === 'pod.not_running')
  assert.deepEqual(await mine(), [])
})

test('a host key that changes within a start is refused until an officer accepts it, and free at the next start', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute, { is_public: true })
  await connected(compute, id)
  const client = compute.as(officer())
  const pinned = await client.call(getPod, at(id))
  assert.ok(pinned.status === 200)
  await compute.world.ssh.change()
  const officers = { ...at(id), body: { fingerprint: pinned.body.pod.host_key ?? '' } }
  await until(async () => {
    const changed = await connect(compute, id)
    return changed.status === 502 && changed.body.code === 'pod.host_key_changed'
  })
  const other = await client.call(acceptHostKey, officers)
  assert.equal(other.status, 409)
  const shown = /SHA256:[\w+/]{43}/.exec(other.status === 409 ? other.body.error : '')?.[0] ?? ''
  const accepted = await client.call(acceptHostKey, { ...at(id), body: { fingerprint: shown } })
  assert.ok(accepted.status === 200 && accepted.body.pod.host_key === shown)
  assert.equal((await connected(compute, id)).port, compute.world.ssh.port)
  await compute.world.ssh.change()
  await client.call(actOnPod, { ...at(id), body: { action: 'restart' } })
  assert.equal((await connected(compute, id)).port, compute.world.ssh.port)
})

test('without pinning nothing is read from the pod', async (t) => {
  const compute = await testCompute(t, { COMPUTE_PIN_HOST_KEYS: 'false' })
  const { id } = await madePod(compute, { is_public: true })
  compute.world.ssh.port = 1
  assert.equal((await connected(compute, id)).known_hosts, null)
})

test('a folder is given once, kept under another username, and nobody else gets it', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute, { is_public: true })
  const folder = async (who: string, username: string) =>
    (await connected(compute, id, member(who, username))).user_folder
  const ten = await Promise.all(
    Array.from({ length: 10 }, (_, n) => folder(`7000${n}`, 'Same.Name')),
  )
  assert.equal(new Set(ten).size, 10)
  assert.ok(ten.includes('same.name'))
  for (const one of ten) assert.match(one, /^[a-z][a-z0-9._-]{0,21}$/)
  assert.equal(await folder('70000', 'renamed'), ten[0])
  assert.match(await folder('80001', 'root'), /^root-[0-9a-f]{2}$/)
  assert.match(await folder('80002', '1337_漢字'), /^user-[0-9a-f]{2}$/)
  assert.equal(await folder('80003', 'x'.repeat(32)), 'x'.repeat(22))
  const both = await Promise.all(Array.from({ length: 5 }, () => folder('80004', 'twice')))
  assert.deepEqual(new Set(both), new Set(['twice']))
})
