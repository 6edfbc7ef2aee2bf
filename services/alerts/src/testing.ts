import type { TestContext } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { busAs, quietLog, testSettings } from '@guildhall/bus/testing'
import {
  findAlertWebhooks,
  removeAlertWebhook,
  storeAlertWebhook,
  webhookSecret,
} from '@guildhall/contracts/alert-webhooks'
import {
  deleteFeed,
  getFeedHistory,
  type NewFeed,
  putFeed,
  runFeed,
} from '@guildhall/contracts/alerts'
import type { Job } from '@guildhall/contracts/job'
import { findJobRun, startJob } from '@guildhall/contracts/ops'
import { findOrg } from '@guildhall/contracts/orgs'
import { findSecrets } from '@guildhall/contracts/secrets'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import { testSandbox } from '@guildhall/sandbox/testing'
import type { ChatWebhook, World } from '@guildhall/sandbox/world'
import type { Env } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { cleanUp, clientAs, until } from '@guildhall/service/testing'
import { readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import { start } from './main.ts'

type Test = Pick<TestContext, 'after'>
export const REPO = 'lists/jobs'
export const TOKEN = 'very-secret-token-of-the-webhook'
const COMMIT = 'c'.repeat(40)

export const orgOf = (id: number) => ({
  id,
  prefix: `org${id}`,
  name: `Org ${id}`,
  modules: ['alerts'],
  publisher: false,
})
const OFFICER = {
  kind: 'officer' as const,
  chat_user_id: '10001',
  username: 'olivia',
  token_id: 't',
  expires_at: 4_000_000_000,
  superadmin: false,
}

/** A job table of roles, the newest on top. */
export const tableOf = (...rows: string[]) =>
  [
    '# Jobs\n',
    '| Company | Role | Location | Application/Link | Date Posted |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
export const jobRow = (role: string, posted = '0d') =>
  `| Acme | ${role} | Riga | [Apply](https://jobs.test/${encodeURIComponent(role)}?utm_source=x) | ${posted} |`

/** Adds a webhook, and a repository with an empty job table. */
function fill(world: World) {
  const hook: ChatWebhook = { id: '70001', token: TOKEN, messages: [], asked: 0 }
  world.webhooks = [hook]
  const files: Record<string, string> = { 'README.md': tableOf() }
  world.repos.push({
    ...{ name: REPO, private: false, default_branch: 'main', refs: { main: COMMIT } },
    files: { [COMMIT]: files },
  })
  return { world, files, hook }
}

/** alerts on its own database and broker, with the sandbox's chat and lists, and a clock that tests may turn. */
export async function testAlerts(t: Test, more: Env = {}) {
  const sandbox = await testSandbox(t)
  const { world, files, hook } = fill(sandbox.world)
  const clock = { ahead: 0 }
  const now = () => new Date(Date.now() + clock.ahead)
  const { hackathonsUrl } = sandbox
  const settings = {
    ...(await testSettings(t, { alerts: migrations })),
    ALERTS_WEBHOOK_ORIGINS: `${sandbox.url},https://discord.com`,
    CODEHOST_RAW_URL: sandbox.codeHostRawUrl,
    ALERTS_HACKCLUB_URL: `${hackathonsUrl}/hackclub`,
    ALERTS_EURO_HACKATHONS_URL: `${hackathonsUrl}/euro`,
    ALERTS_HACKALIST_URL: `${hackathonsUrl}/hackalist`,
    ...more,
  }
  const auth = await testAuth(t, settings.NATS_URL)
  const alerts = await start(readConfig(settings), now)
  cleanUp(t, () => alerts[Symbol.asyncDispose]())
  const url = roleUrl(settings.DATABASE_URL, 'alerts', settings.INTERNAL_KEY)
  const db = openDb<Tables>({ url, schema: 'alerts', log: quietLog })
  cleanUp(t, () => db.destroy())
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'operator' })
  const officer = (id = 1) =>
    clientAs(alerts.url, settings.INTERNAL_KEY, { org: orgOf(id), caller: OFFICER })
  const webhook_url = `${sandbox.chatWebhooksUrl}/${hook.id}/${hook.token}`
  const params = { org: 'org1', key: 'jobs' }
  const { queue, runJob } = jobsOf(bus)
  return {
    ...{ ...auth, sandbox, world, hook },
    ...{ files, clock, settings, db, bus, officer, webhook_url, params, runJob, queue },
    put: (body: NewFeed, key = 'jobs', id = 1) =>
      officer(id).call(putFeed, { params: { org: `org${id}`, key }, body }),
    /** Makes the feed `jobs` of the test's repository. */
    make: (body: NewFeed = {}) =>
      officer().call(putFeed, {
        params,
        body: { kind: 'github_jobs', webhook_url, config: { repo: REPO }, ...body },
      }),
    run: (args: Record<string, unknown> = {}) =>
      runJob(runFeed, { org_id: 1, key: 'jobs', ...args }),
    remove: () => officer().call(deleteFeed, { params }),
    async history() {
      const reply = await officer().call(getFeedHistory, { params })
      if (reply.status !== 200) throw new Error(`history: ${reply.status}`)
      return reply.body
    },
    /** Another process on the same database and broker. */
    async replica() {
      const second = await start(readConfig(settings), now)
      cleanUp(t, () => second[Symbol.asyncDispose]())
    },
    stop: () => alerts[Symbol.asyncDispose](),
  }
}

function jobsOf(bus: Bus) {
  async function queue(job: Job, args: Record<string, unknown> = {}) {
    const id = newId()
    await ask(bus, startJob('alerts'), { id, job: job.name, args })
    return id
  }
  /** Starts a job, and answers its run once it is over. */
  async function runJob(job: Job, args: Record<string, unknown> = {}) {
    const id = await queue(job, args)
    return until(async () => {
      const { run: found } = await ask(bus, findJobRun('alerts'), { id })
      return found?.finished_at ? found : undefined
    }, 60_000)
  }
  return { queue, runJob }
}

export type TestAlerts = Awaited<ReturnType<typeof testAlerts>>

/** auth, as far as alerts asks it. */
async function testAuth(t: Test, url: string) {
  /** By org and name. */
  const secrets = new Map<string, string>()
  /** Every webhook that was to be kept, also one that another took the place of. */
  const stored: string[] = []
  const state = { off: false, keyUnset: false }
  const held = { asked: Promise.withResolvers<void>(), until: Promise.resolve() as Promise<void> }
  let letGo = () => {}
  const bus = await busAs(t, { url, peer: 'auth' })
  const place = (org: number, key: string) => `${org} ${webhookSecret(key)}`
  answer(bus, findOrg, async (args) => ({
    org: 'id' in args && !state.off ? orgOf(args.id) : null,
  }))
  answer(bus, storeAlertWebhook, async ({ org_id, key, webhook_url }) => {
    if (state.keyUnset) throw keyUnset()
    secrets.set(place(org_id, key), webhook_url)
    stored.push(webhook_url)
    return {}
  })
  answer(bus, removeAlertWebhook, async ({ org_id, key }) => {
    secrets.delete(place(org_id, key))
    held.asked.resolve()
    await held.until
    return {}
  })
  answer(bus, findAlertWebhooks, async ({ org_id }) => {
    const own = [...secrets.keys()].filter((name) => name.startsWith(place(org_id, '')))
    return { keys: own.map((name) => name.slice(place(org_id, '').length)) }
  })
  answer(bus, findSecrets('alerts'), async ({ org_id, names }) => {
    held.asked.resolve()
    await held.until
    const found = names.flatMap((name) => {
      const value = secrets.get(`${org_id} ${name}`)
      return value === undefined ? [] : [[name, value] as const]
    })
    return { secrets: Object.fromEntries(found) }
  })
  await bus.nats.flush()
  /** Keeps whoever asks for a value, or has removed one, waiting; resolves once somebody is. */
  function holdSecrets() {
    const gate = Promise.withResolvers<void>()
    held.asked = Promise.withResolvers<void>()
    held.until = gate.promise
    letGo = gate.resolve
    return held.asked.promise
  }
  return { secrets, stored, state, authBus: bus, holdSecrets, letSecretsGo: () => letGo() }
}

const keyUnset = () => new AppError('unavailable', 'secrets_key.unset', 'Set SECRETS_KEY')
