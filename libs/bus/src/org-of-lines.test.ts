import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { askedBy, botCommands } from '@guildhall/contracts/bot'
import { search } from '@guildhall/contracts/knowledge'
import { findDisplayNames } from '@guildhall/contracts/members'
import { pruneJobs } from '@guildhall/contracts/ops'
import { createApp } from '@guildhall/service/app'
import { callerKey } from '@guildhall/service/caller-token'
import { createLog } from '@guildhall/service/log'
import { cleanUp, clientAs, until } from '@guildhall/service/testing'
import { z } from 'zod'
import { answer, ask } from './calls.ts'
import { handles, queueJob, runJobs } from './jobs.ts'
import { relay } from './relay.ts'
import { ensureStreams } from './streams.ts'
import { busAs, TEST_INTERNAL_KEY, testBroker, testOutbox } from './testing.ts'

const ORG = { id: 7, prefix: 'chess', name: 'Chess', modules: [], publisher: false }

/** The log of a process, and the orgs that its lines at error name. */
function testLog() {
  const lines: { level: string; org?: unknown }[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const orgs = () => lines.filter(({ level }) => level === 'ERROR').map(({ org }) => org)
  return { log: createLog('tested', { format: 'json', to }), orgs }
}

const fails = async () => {
  throw new TypeError('it broke')
}

test('what a request logs names the org of its caller', async (t) => {
  const { log, orgs } = testLog()
  const app = createApp({
    ...{ service: 'knowledge', log, ready: {} },
    callerKey: callerKey(TEST_INTERNAL_KEY, 'knowledge'),
  })
  app.implement(search, async () => {
    log.error('a line of its own')
    log.error({ org: null }, 'a line about what all orgs share')
    return fails()
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  cleanUp(t, () => app.close())
  const token = { token_id: 't', token_kind: 'app', name: 'n', scopes: ['knowledge:read'] } as const
  const caller = { kind: 'machine', ...token } as const
  const asked = clientAs(url, TEST_INTERNAL_KEY, { caller, org: ORG })
  assert.equal((await asked.call(search, { body: { query: 'x' } })).status, 500)
  assert.deepEqual(orgs(), [7, null, 7])
})

test('what a call logs names the org in its arguments', async (t) => {
  const { log, orgs } = testLog()
  const { url } = await testBroker(t)
  const [auth, calendar] = await Promise.all([
    busAs(t, { url, peer: 'auth', log }),
    busAs(t, { url, peer: 'calendar', log }),
  ])
  const knowledge = await busAs(t, { url, peer: 'knowledge' })
  const bot = await busAs(t, { url, peer: 'bot' })
  answer(auth, findDisplayNames, fails)
  answer(calendar, askedBy(botCommands.events), fails)
  await Promise.all([auth.nats.flush(), calendar.nats.flush()])
  await assert.rejects(ask(knowledge, findDisplayNames, { org_id: 8, ids: [] }), /could not answer/)
  const member = { chat_user_id: '184402700000000002', username: 'milo' }
  const asked = ask(bot, askedBy(botCommands.events), { org: ORG, ...member, input: {} })
  await assert.rejects(asked, /could not answer/)
  assert.deepEqual(orgs(), [8, 7])
})

/** Runs this job until the test ends. */
async function testJob(t: TestContext, args: { org_id?: number }) {
  const { log, orgs } = testLog()
  const [{ url }, db] = await Promise.all([testBroker(t), testOutbox(t)])
  const bus = await busAs(t, { url, peer: 'ops', log })
  await ensureStreams(bus.jsm)
  const job = {
    ...{ ...pruneJobs.ops, attempts: 1 },
    args: z.object({ org_id: z.int().optional() }),
  }
  const ending = new AbortController()
  const handler = handles(job, fails)
  const running = [runJobs(bus, db, [handler], ending.signal), relay(bus, db, ending.signal)]
  cleanUp(t, async () => {
    ending.abort()
    await Promise.all(running)
  })
  await db.transaction().execute((trx) => queueJob(trx, job, args))
  await until(() => orgs().length === 1)
  return orgs()
}

test('what a job logs names the org in its arguments, and none where it has none', async (t) => {
  assert.deepEqual(await testJob(t, { org_id: 7 }), [7])
  assert.deepEqual(await testJob(t, {}), [undefined])
})
