import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  acceptHostKey,
  actOnPod,
  changePodAccess,
  createPod,
  getPod,
  type PodAction,
  putComputeSettings,
} from '@guildhall/contracts/compute'
import { connectToPod } from '@guildhall/contracts/connect'
import { planPodSession, removePodSession } from '@guildhall/contracts/pod-sessions'
import type { Route } from '@guildhall/contracts/route'
import { routes } from '@guildhall/contracts/routes'
import { member, OFFICER, officer, type TestCompute, testCompute } from './testing.ts'
import { PODHOST_KEY } from './testing-podhost.ts'

const KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIHcWQ6mQn5vUDGwsO4j1bZbrbzU1CLsGBrRFYOkLRSxM'
const NAME = 'chess engine'
const soon = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()

/** What came of the steps before. */
interface Story {
  pod_id: string
  session_id: string
}
interface Step {
  route: Route
  says: string
  /** Sends the request and answers its status; it may go on with the story. */
  send(compute: TestCompute, story: Story): Promise<number>
}

const act = (action: PodAction, says: string): Step => ({
  route: actOnPod,
  says: `compute.pod.${says}`,
  send: async ({ as }, { pod_id }) => {
    const params = { org: 'org1', pod_id }
    return (await as(officer()).call(actOnPod, { params, body: { action } })).status
  },
})

const STEPS: Step[] = [
  {
    route: createPod,
    says: 'compute.pod.created',
    async send({ as }, story) {
      const body = { name: NAME, is_public: true, env: { TOKEN: PODHOST_KEY } }
      const reply = await as(officer()).call(createPod, { params: { org: 'org1' }, body })
      if (reply.status === 201) story.pod_id = reply.body.pod.id
      return reply.status
    },
  },
  {
    route: changePodAccess,
    says: 'compute.pod.access_changed',
    async send({ as }, { pod_id }) {
      const params = { org: 'org1', pod_id }
      const body = { is_public: true }
      return (await as(officer()).call(changePodAccess, { params, body })).status
    },
  },
  {
    route: connectToPod,
    says: 'compute.certificate.issued',
    async send({ as }, { pod_id }) {
      const params = { org: 'org1', pod_id }
      const body = { public_key: `ssh-ed25519 ${KEY}` }
      return (await as(member(OFFICER, 'grace')).call(connectToPod, { params, body })).status
    },
  },
  {
    route: acceptHostKey,
    says: 'compute.host_key.accepted',
    async send({ as }, { pod_id }) {
      const params = { org: 'org1', pod_id }
      const pinned = await as(officer()).call(getPod, { params })
      const fingerprint = (pinned.status === 200 && pinned.body.pod.host_key) || ''
      return (await as(officer()).call(acceptHostKey, { params, body: { fingerprint } })).status
    },
  },
  {
    route: planPodSession,
    says: 'compute.session.planned',
    async send({ as }, story) {
      const params = { org: 'org1', pod_id: story.pod_id }
      const body = { start_at: soon(60), stop_at: soon(90) }
      const reply = await as(officer()).call(planPodSession, { params, body })
      if (reply.status === 201) story.session_id = reply.body.session.id
      return reply.status
    },
  },
  {
    route: removePodSession,
    says: 'compute.session.removed',
    async send({ as }, story) {
      const params = { org: 'org1', ...story }
      return (await as(officer()).call(removePodSession, { params })).status
    },
  },
  act('stop', 'stopped'),
  act('start', 'started'),
  act('restart', 'restarted'),
  act('terminate', 'terminated'),
  {
    route: putComputeSettings,
    says: 'compute.settings.changed',
    async send({ as }) {
      const args = { params: { org: 'org1' }, body: { pod_image: 'org/image:2' } }
      return (await as(officer()).call(putComputeSettings, args)).status
    },
  },
]

const nameOf = ({ method, url }: Route) => `${method} ${url}`

test('every route of pods that changes something writes one line, with the pod and never a key', async (t) => {
  const compute = await testCompute(t)
  const story: Story = { pod_id: '', session_id: '' }
  const lines = async () => {
    const rows = await compute.db.selectFrom('outbox').select(['id', 'payload']).execute()
    return rows.filter(({ payload }) => 'action' in payload)
  }
  for (const { route, says, send } of STEPS) {
    const before = new Set((await lines()).map(({ id }) => id))
    const status = await send(compute, story)
    assert.ok(status < 300, `${says}: ${status}`)
    const written = (await lines()).filter(({ id }) => !before.has(id))
    const [line = assert.fail(says)] = written.map(({ payload }) => payload as unknown as Line)
    assert.deepEqual([written.length, line.action, line.actor_id], [1, says, OFFICER])
    const { details } = line
    const mayName = route.url.includes('/pods') // the settings are of no pod
    assert.equal(details.pod_id, mayName ? story.pod_id : undefined, says)
    if (mayName && route !== acceptHostKey) assert.equal(details.name, NAME, says)
    for (const secret of [KEY, PODHOST_KEY, 'ssh-ed25519'])
      assert.ok(!JSON.stringify(line).includes(secret), says)
  }
})

interface Line {
  action: string
  actor_id: string
  details: Record<string, unknown>
}

test('the table above has every route of compute that changes something, but those of files', () => {
  const changing = routes
    .map(({ route }) => route)
    .filter(({ owner, method }) => owner === 'compute' && method !== 'GET')
    .filter(({ url }) => url.startsWith('/api/compute/') && !url.includes('/files'))
  const told = new Set(STEPS.map(({ route }) => nameOf(route)))
  assert.deepEqual(changing.map(nameOf).sort(), [...told].sort())
})
