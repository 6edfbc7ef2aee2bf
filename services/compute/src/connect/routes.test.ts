import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  acceptHostKey,
  actOnPod,
  changePodAccess,
  createPod,
  getPod,
} from '@guildhall/contracts/compute'
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
import { PODHOST_KEY } from '../testing-podhost.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHcWQ6mQn5vUDGwsO4j1bZbrbzU1CLsGBrRFYOkLRSxM'
const at = (pod_id: string) => ({ params: { org: 'org1', pod_id } })

const connect = ({ as }: TestCompute, pod: string, who = member(), public_key = KEY) =>
  as(who).call(connectToPod, { ...at(pod), body: { public_key } })

async function connected(compute: TestCompute, pod: string, who = member()) {
  const reply = await connect(compute, pod, who)
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

/** The extensions in what `ssh-keygen -L` tells, which writes them last. */
const extensionsIn = (said: string[]) =>
  said.slice(said.indexOf('Extensions:') + 1).filter((line) => line !== '')

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
  assert.deepEqual(extensionsIn(said), ['permit-port-forwarding', 'permit-pty'])
  const root = await connected(compute, id, member(OFFICER, 'grace'))
  assert.equal(root.is_admin, true)
  const rootSaid = await ssh.read(root.certificate)
  assert.ok(rootSaid.includes('Critical Options: (none)'))
  const agent = 'permit-agent-forwarding'
  assert.deepEqual(extensionsIn(rootSaid), [agent, 'permit-port-forwarding', 'permit-pty'])
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

test('a start or restart frees the pinned host key, what changes nothing does not', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute, { is_public: true })
  const client = compute.as(officer())
  const pinned = async () => {
    const reply = await client.call(getPod, at(id))
    return reply.status === 200 && reply.body.pod.host_key !== null
  }
  for (const actions of [['restart'], ['stop', 'start']] as const) {
    await connected(compute, id)
    await client.call(actOnPod, { ...at(id), body: { action: 'start' } })
    assert.equal(await pinned(), true, 'it ran already')
    for (const action of actions) await client.call(actOnPod, { ...at(id), body: { action } })
    assert.equal(await pinned(), false, actions.join())
  }
})

test('what is known of one pod and one club is kept while another pod and club are changed', async (t) => {
  const compute = await testCompute(t)
  compute.secrets.set(2, PODHOST_KEY)
  const [mine, other] = [await madePod(compute, { is_public: true }), await madePod(compute)]
  await connected(compute, mine.id)
  const { guests } = compute.world.ssh
  const before = guests.came
  const restart = { ...at(other.id), body: { action: 'restart' as const } }
  assert.equal((await compute.as(officer()).call(actOnPod, restart)).status, 200)
  await connected(compute, mine.id)
  assert.equal(guests.came, before, 'the host key is not read again')

  const rival = { params: { org: 'org2' }, body: {} }
  const lists = () => compute.world.asked.filter((one) => one === 'GET /v2/pods').length
  const listMine = () => compute.as(member()).call(listMyPods, { params: { org: 'org1' } })
  // what is known of pods is two seconds old at most: a slow machine may need more than one try
  await until(async () => {
    await listMine()
    const made = await compute.as(officer(2)).call(createPod, rival)
    assert.equal(made.status, 201)
    const asked = lists()
    await listMine()
    return lists() === asked
  })
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
