import type { TestContext } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import { busAs, quietLog, testSettings } from '@guildhall/bus/testing'
import { createPod, getPod } from '@guildhall/contracts/compute'
import type { Job } from '@guildhall/contracts/job'
import { findMembership } from '@guildhall/contracts/members'
import { findJobRun, startJob } from '@guildhall/contracts/ops'
import { findOrg } from '@guildhall/contracts/orgs'
import { findSecrets } from '@guildhall/contracts/secrets'
import { findTokenLimits, type TokenLimits } from '@guildhall/contracts/tokens'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import { testSandbox } from '@guildhall/sandbox/testing'
import type { Identity } from '@guildhall/service/caller-token'
import type { Env } from '@guildhall/service/config'
import { newId } from '@guildhall/service/id'
import { cleanUp, clientAs, until } from '@guildhall/service/testing'
import { readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import { start } from './main.ts'
import { PODHOST_KEY, testPodhost } from './testing-podhost.ts'

type Test = Pick<TestContext, 'after'>
export const OFFICER = '10001'
export const MEMBER = '20002'

/** compute on its own database, broker and pod host, with a clock that tests may turn. */
export async function testCompute(t: Test, more: Env = {}) {
  const clock = { ahead: 0 }
  const now = () => new Date(Date.now() + clock.ahead)
  const { world, url: PODHOST_API_URL } = await testPodhost(t)
  const settings = {
    ...(await testSettings(t, { compute: migrations })),
    SECRETS_KEY: '33'.repeat(32),
    COMPUTE_POD_IMAGE: 'guildhall/pod:1',
    PODHOST_API_URL,
    ...more,
  }
  const auth = await testAuth(t, settings.NATS_URL)
  const compute = await start(readConfig(settings), now)
  cleanUp(t, () => compute[Symbol.asyncDispose]())
  const { DATABASE_URL, INTERNAL_KEY, NATS_URL } = settings
  const url = roleUrl(DATABASE_URL, 'compute', INTERNAL_KEY)
  const db = openDb<Tables>({ url, schema: 'compute', log: quietLog })
  cleanUp(t, () => db.destroy())
  const bus = await busAs(t, { url: NATS_URL, peer: 'operator' })
  const as = (identity: Partial<Identity>, headers: Record<string, string> = {}) =>
    clientAs(compute.url, INTERNAL_KEY, identity, headers)
  /** Runs a job as the operator would, and answers its run once it is over. */
  async function run(job: Job) {
    const id = newId()
    await ask(bus, startJob('compute'), { id, job: job.name, args: {} })
    return until(async () => {
      const { run: found } = await ask(bus, findJobRun('compute'), { id })
      return found?.finished_at ? found : undefined
    }, 30_000)
  }
  /** A second process on the same database and broker. */
  async function replica() {
    const second = await start(readConfig(settings), now)
    cleanUp(t, () => second[Symbol.asyncDispose]())
    return (identity: Partial<Identity>) => clientAs(second.url, INTERNAL_KEY, identity)
  }
  return { as, db, clock, world, settings, run, replica, url: compute.url, ...auth }
}

export type TestCompute = Awaited<ReturnType<typeof testCompute>>

/** compute before the sandbox's pods, which are real: org 1 and OFFICER have the account `keys.podhost`. */
export async function testOnPods(t: Test, more: Env = {}) {
  const sandbox = await testSandbox(t)
  const compute = await testCompute(t, { PODHOST_API_URL: sandbox.podhostUrl, ...more })
  compute.secrets.set(1, sandbox.world.keys.podhost)
  return { ...compute, sandbox }
}

/** A pod that runs and lets sign in. */
export async function runningPodOf(compute: TestCompute, body: object = {}) {
  const { id } = await madePod(compute, body)
  return until(async () => {
    const reply = await compute.as(officer()).call(getPod, { params: { org: 'org1', pod_id: id } })
    return reply.status === 200 && reply.body.pod.status === 'RUNNING' && reply.body.pod
  }, 30_000)
}

/** auth, as far as compute asks it: org 1 has connected its pod host, and OFFICER is its officer. */
async function testAuth(t: Test, url: string) {
  const secrets = new Map([[1, PODHOST_KEY]])
  /** Of org 1, by name. */
  const ownSecrets: Record<string, string> = {}
  const org = { ...orgOf(1), modules: ['compute', 'apps'] }
  /** What auth says of org 1: deactivated where it is null. */
  const directory: { org: typeof org | null } = { org }
  const auth = await busAs(t, { url, peer: 'auth' })
  answer(auth, findSecrets('compute'), async ({ org_id, names }) => {
    const podhost_api_key = secrets.get(org_id)
    const own = names.flatMap((name) => {
      const value = org_id === 1 ? ownSecrets[name] : undefined
      return value === undefined ? [] : [[name, value] as const]
    })
    const found = Object.fromEntries(own)
    return { secrets: { ...found, ...(podhost_api_key && { podhost_api_key }) } }
  })
  /** Of every machine token. */
  const limits: TokenLimits = {}
  answer(auth, findTokenLimits, async () => ({ limits }))
  answer(auth, findOrg, async () => ({ org: directory.org }))
  answer(auth, findMembership, async ({ chat_user_id }) => ({
    member: true,
    officer: chat_user_id === OFFICER,
    name: 'Ada',
    roles: [],
    valid_until: new Date(Date.now() + 60_000).toISOString(),
  }))
  await auth.nats.flush()
  return { secrets, ownSecrets, directory, limits, auth }
}

const orgOf = (id: number) => ({
  id,
  prefix: `org${id}`,
  name: `Org ${id}`,
  modules: ['compute'],
  publisher: false,
})

export const officer = (id = 1): Partial<Identity> => ({
  org: orgOf(id),
  caller: {
    kind: 'officer',
    superadmin: false,
    chat_user_id: OFFICER,
    username: 'grace',
    token_id: newId(),
    expires_at: 4e9,
  },
})

export const member = (chat_user_id = MEMBER, username = 'ada', id = 1): Partial<Identity> => ({
  org: orgOf(id),
  caller: { kind: 'member', chat_user_id, username, session_id: newId() },
})

/** A pod of org 1, made through the front door. */
export async function madePod({ as }: TestCompute, body: object = {}) {
  const reply = await as(officer()).call(createPod, { params: { org: 'org1' }, body })
  if (reply.status !== 201) throw new Error(JSON.stringify(reply.body))
  return reply.body.pod
}
