import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import { tellChanged } from '@guildhall/bus/changed'
import { connectBus } from '@guildhall/bus/connect'
import { quietLog, testSettings } from '@guildhall/bus/testing'
import { changed } from '@guildhall/contracts/event'
import type { Job } from '@guildhall/contracts/job'
import { findJobRun, startJob } from '@guildhall/contracts/ops'
import { findOrg, listPublishers } from '@guildhall/contracts/orgs'
import { findSecrets } from '@guildhall/contracts/secrets'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import type { Identity } from '@guildhall/service/caller-token'
import type { Env } from '@guildhall/service/config'
import { newId } from '@guildhall/service/id'
import { cleanUp, clientAs, until } from '@guildhall/service/testing'
import type { OrgSecrets } from './clients/org-secrets.ts'
import { readConfig } from './config.ts'
import type { Bounds } from './crawls/fetch.ts'
import { migrations, type Tables } from './db.ts'
import { start } from './main.ts'

/** Here URLs of officers and pages may be of this host, which all names under test have. */
export const LOOPBACK: Bounds = {
  allowAddresses: ['127.0.0.1'],
  lookup: (name, callback) => {
    const known = name === 'localhost' || name.endsWith('.test')
    if (known) callback(null, [{ address: '127.0.0.1', family: 4 }])
    else callback(new Error(`No ${name} in tests`), [])
  },
}

type Test = Pick<TestContext, 'after'>

/** What knowledge needs: its own database, broker and folder of the index. */
export async function knowledgeSettings(t: Test, more: Env = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'guildhall-test-index-'))
  cleanUp(t, () => rm(dir, { recursive: true, force: true }))
  return {
    ...(await testSettings(t, { knowledge: migrations })),
    KNOWLEDGE_INDEX_DIR: join(dir, 'index'),
    ...more,
  }
}

/** knowledge on its own database, broker and index, or on those of `settings`. */
export async function testKnowledge(
  t: Test,
  more: Env = {},
  given?: Awaited<ReturnType<typeof knowledgeSettings>>,
  { now = () => new Date(), bounds = {} }: { now?: () => Date; bounds?: Bounds } = {},
) {
  const settings = { ...(given ?? (await knowledgeSettings(t))), ...more }
  const outside = await testAuth(t, settings)
  const knowledge = await start(readConfig(settings), now, { ...LOOPBACK, ...bounds })
  const { DATABASE_URL, INTERNAL_KEY: internalKey, NATS_URL } = settings
  const url = roleUrl(DATABASE_URL, 'knowledge', internalKey)
  const db = openDb<Tables>({ url, schema: 'knowledge', log: quietLog })
  cleanUp(t, () => db.destroy())
  const bus = await connectBus({ peer: 'operator', url: NATS_URL, internalKey, log: quietLog })
  cleanUp(t, () => bus[Symbol.asyncDispose]())
  let running = true
  const stop = async () => {
    if (running) await knowledge[Symbol.asyncDispose]()
    running = false
  }
  cleanUp(t, stop)
  const as = (identity: Partial<Identity>) => clientAs(knowledge.url, internalKey, identity)
  /** Runs a job as the operator would, and answers its run once it is over. */
  async function run(job: Job, args: Record<string, unknown> = {}) {
    const id = newId()
    await ask(bus, startJob('knowledge'), { id, job: job.name, args })
    return until(async () => {
      const { run: found } = await ask(bus, findJobRun('knowledge'), { id })
      return found?.finished_at ? found : undefined
    }, 60_000)
  }
  return { as, db, bus, settings, url: knowledge.url, stop, run, ...outside }
}

/** auth, as far as knowledge asks it: the orgs in `publishers` publish, at the start org 1, and `secrets` are those of each org. */
async function testAuth(
  t: Test,
  { NATS_URL: url, INTERNAL_KEY: internalKey }: { NATS_URL: string; INTERNAL_KEY: string },
) {
  const publishers = new Set([1])
  const secrets = new Map<number, OrgSecrets>()
  const auth = await connectBus({ peer: 'auth', url, internalKey, log: quietLog })
  cleanUp(t, () => auth[Symbol.asyncDispose]())
  answer(auth, listPublishers, async () => ({ org_ids: [...publishers] }))
  answer(auth, findSecrets('knowledge'), async ({ org_id }) => ({
    secrets: secrets.get(org_id) ?? {},
  }))
  const inactive = new Set<number>()
  answer(auth, findOrg, async (asked) => {
    const id = 'id' in asked ? asked.id : 0
    const org = { id, prefix: `org${id}`, name: `Org ${id}`, modules: ['knowledge'] }
    return { org: inactive.has(id) ? null : { ...org, publisher: publishers.has(id) } }
  })
  await auth.nats.flush()
  /** Sets an org's secrets and tells so, as auth does. */
  async function setSecrets(orgId: number, values: OrgSecrets) {
    secrets.set(orgId, values)
    tellChanged(auth, changed.org, orgId)
    await auth.nats.flush()
  }
  /** Deactivates an org, or activates it again, and tells so. */
  async function setActive(orgId: number, active: boolean) {
    if (active) inactive.delete(orgId)
    else inactive.add(orgId)
    tellChanged(auth, changed.org, orgId)
    await auth.nats.flush()
  }
  return { publishers, auth, setSecrets, setActive }
}
