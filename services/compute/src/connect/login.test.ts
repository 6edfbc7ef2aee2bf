import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createPod, type Pod } from '@guildhall/contracts/compute'
import { connectToPod } from '@guildhall/contracts/connect'
import { sshOptions, testKeys } from '@guildhall/sandbox/podhost/testing'
import { MEMBER, member, OFFICER, officer, runningPodOf, testOnPods } from '../testing.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** What ssh exits with where nobody lets it in. */
const REFUSED = 255

/** Two pods of org 1, a pod host account for org 2, and the system's own ssh. */
async function open(t: TestContext) {
  const compute = await testOnPods(t)
  compute.secrets.set(2, compute.sandbox.world.keys.podhost)
  const keys = await testKeys(t)
  const { stdout: public_key } = await keys.run('ssh-keygen', ['-y', '-f', keys.person])
  const pod = await runningPodOf(compute, { is_public: true })

  /** A certificate as the connect route gives it, made `ahead` of now. */
  async function certificate(pod_id: string, who = member(), { org = 'org1', ahead = 0 } = {}) {
    compute.clock.ahead = ahead
    const asked = { params: { org, pod_id }, body: { public_key } }
    const reply = await compute.as(who).call(connectToPod, asked)
    compute.clock.ahead = 0
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body.certificate
  }

  /** What a person with this certificate is on the first pod, or how ssh ends. */
  async function enter(text: string) {
    const file = join(keys.folder, `${randomBytes(8).toString('hex')}-cert.pub`)
    await writeFile(file, `${text}\n`)
    const options = [...sshOptions(keys.person, file), '-p', String(pod.port)]
    const ran = await keys.run('ssh', [...options, `root@${pod.host}`, 'id -un'])
    return ran.code === 0 ? ran.stdout.trim() : ran.code
  }
  return { compute, pod, certificate, enter }
}

test('sshd lets in whom a certificate of the connect route names, at its time and on its pod', async (t) => {
  const { compute, pod, certificate, enter } = await open(t)
  const beside = await runningPodOf(compute, { is_public: true })
  const good = await certificate(pod.id)
  assert.equal(await enter(good), 'ada')
  assert.equal(await enter(await certificate(pod.id, member(OFFICER, 'grace'))), 'root')
  const [late, early] = [{ ahead: -11.9 * HOUR_MS }, { ahead: 4 * MINUTE_MS }]
  assert.equal(await enter(await certificate(pod.id, member(), late)), 'ada', 'for 12 hours')
  assert.equal(await enter(await certificate(pod.id, member(), early)), 'ada', '5 minutes ahead')
  const refused = {
    expired: await certificate(pod.id, member(), { ahead: -12 * HOUR_MS }),
    early: await certificate(pod.id, member(), { ahead: 7 * MINUTE_MS }),
    otherPod: await certificate(beside.id),
    otherPodOfficer: await certificate(beside.id, member(OFFICER, 'grace')),
    otherOrg: await certificateOfOrg2({ compute, pod, certificate }),
    altered: altered(await certificate(beside.id), beside.id, pod.id),
    promoted: altered(good, '/usr/local/bin/compute-login ada', '/usr/bin/env PATH=/bin:/usr/bin '),
  }
  for (const [name, text] of Object.entries(refused)) assert.equal(await enter(text), REFUSED, name)
  assert.equal(await enter(good), 'ada', 'and still')
})

/** For the very same pod, so that the key that signed is all that differs. */
async function certificateOfOrg2({
  compute,
  pod,
  certificate,
}: Pick<Awaited<ReturnType<typeof open>>, 'compute' | 'certificate'> & {
  pod: Pod
}) {
  const made = await compute.as(officer(2)).call(createPod, { params: { org: 'org2' }, body: {} })
  assert.ok(made.status === 201)
  await compute.db
    .updateTable('pods')
    .set({ pod_id: pod.id, is_public: true })
    .where('org_id', '=', 2)
    .execute()
  return certificate(pod.id, member(MEMBER, 'ada', 2), { org: 'org2' })
}

/** The certificate with a text replaced by one as long, under the old signature. */
function altered(certificate: string, from: string, to: string) {
  assert.equal(from.length, to.length)
  const [kind, base64 = ''] = certificate.split(' ')
  const bytes = Buffer.from(base64, 'base64')
  assert.ok(bytes.includes(from))
  bytes.write(to, bytes.indexOf(from))
  return `${kind} ${bytes.toString('base64')}`
}
