import type { TestContext } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import { busAs, quietLog, testSettings } from '@guildhall/bus/testing'
import { embedTexts } from '@guildhall/contracts/embeddings'
import type { Job } from '@guildhall/contracts/job'
import { findMembership } from '@guildhall/contracts/members'
import { findJobRun, startJob } from '@guildhall/contracts/ops'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import type { Env } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { cleanUp, clientAs, until } from '@guildhall/service/testing'
import { readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import { start } from './main.ts'

type Test = Pick<TestContext, 'after'>
export const MEMBER = '20002'
export const OTHER = '30003'

const orgOf = (id: number) => ({
  id,
  prefix: `org${id}`,
  name: `Org ${id}`,
  modules: ['agents'],
  publisher: false,
})

/** agents on its own database and broker, with a clock that tests may turn. */
export async function testAgents(t: Test, more: Env = {}) {
  const clock = { ahead: 0 }
  const now = () => new Date(Date.now() + clock.ahead)
  const settings = {
    ...(await testSettings(t, { agents: migrations })),
    SECRETS_KEY: '33'.repeat(32),
    ...more,
  }
  const { DATABASE_URL, INTERNAL_KEY, NATS_URL } = settings
  const outside = await testOutside(t, NATS_URL)
  const agents = await start(readConfig(settings), now)
  cleanUp(t, () => agents[Symbol.asyncDispose]())
  const url = roleUrl(DATABASE_URL, 'agents', INTERNAL_KEY)
  const db = openDb<Tables>({ url, schema: 'agents', log: quietLog })
  cleanUp(t, () => db.destroy())
  const bus = await busAs(t, { url: NATS_URL, peer: 'operator' })
  /** An agent with both scopes, of org `id`. */
  const agent = (id = 1, headers: Record<string, string> = {}) =>
    clientAs(agents.url, INTERNAL_KEY, { org: orgOf(id), caller: AGENT }, headers)
  /** A member in their browser, on the server of org `id`. */
  const member = (chat_user_id = MEMBER, id = 1) => {
    const caller = { kind: 'member' as const, chat_user_id, username: 'ada', session_id: newId() }
    return clientAs(agents.url, INTERNAL_KEY, { org: orgOf(id), caller })
  }
  /** Another process on the same database and broker, with other settings. */
  async function replica(other: Env = {}) {
    const second = await start(readConfig({ ...settings, ...other }), now)
    cleanUp(t, () => second[Symbol.asyncDispose]())
    return clientAs(second.url, INTERNAL_KEY, { org: orgOf(1), caller: AGENT })
  }
  /** Runs a job as the operator would, and answers its run once it is over. */
  async function run(job: Job) {
    const id = newId()
    await ask(bus, startJob('agents'), { id, job: job.name, args: {} })
    return until(async () => {
      const { run: found } = await ask(bus, findJobRun('agents'), { id })
      return found?.finished_at ? found : undefined
    }, 30_000)
  }
  /** Waits until every job that was queued is over. */
  const settled = () =>
    until(async () => {
      const runs = db.selectFrom('job_runs').select('id').where('finished_at', 'is', null)
      return (await runs.execute()).length === 0
    }, 30_000)
  /** The actions of the audit lines so far, oldest first. */
  async function audited() {
    const rows = await db.selectFrom('outbox').select('payload').orderBy('id').execute()
    return rows.flatMap(({ payload }) => ('action' in payload ? [String(payload.action)] : []))
  }
  return { agent, member, replica, run, settled, audited, db, clock, settings, ...outside }
}

export type TestAgents = Awaited<ReturnType<typeof testAgents>>

const AGENT = {
  kind: 'machine' as const,
  token_id: '01890000-0000-7000-8000-00000000000a',
  token_kind: 'agent' as const,
  name: 'helper',
  scopes: ['agents:read', 'agents:write'],
}

/** auth and knowledge, as far as agents asks them. */
async function testOutside(t: Test, url: string) {
  /** Who is on the servers, and what the embedder does. */
  const world = {
    members: new Set([MEMBER, OTHER]),
    chatIsAway: false,
    embedder: undefined as ((text: string) => number[]) | undefined,
    model: 'words',
    embedded: [] as string[],
    /** The embedder answers once this has resolved. */
    slow: Promise.resolve(),
    asked: 0,
  }
  const auth = await busAs(t, { url, peer: 'auth' })
  answer(auth, findMembership, async ({ chat_user_id }) => {
    if (world.chatIsAway) throw new AppError('unavailable', 'chat.unavailable', 'It is away')
    const member = world.members.has(chat_user_id)
    const [name, roles] = member ? ['Ada', ['900001']] : [null, []]
    const valid_until = new Date(Date.now() + 60_000).toISOString()
    return { member, officer: false, name, roles, valid_until }
  })
  const knowledge = await busAs(t, { url, peer: 'knowledge' })
  answer(knowledge, embedTexts, async ({ texts }) => {
    world.asked += 1
    await world.slow
    const { embedder, model } = world
    if (!embedder) return { embedded: null }
    world.embedded.push(...texts)
    const vectors = texts.map((text) =>
      Buffer.from(Float32Array.from(embedder(text)).buffer).toString('base64'),
    )
    return { embedded: { model, vectors } }
  })
  await Promise.all([auth.nats.flush(), knowledge.nats.flush()])
  return { world, auth }
}
