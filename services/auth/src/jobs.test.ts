import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queueJob } from '@guildhall/bus/jobs'
import { pruneJobs } from '@guildhall/contracts/ops'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { type TestAuth, testAuth } from './testing.ts'

const DAY_MS = 86_400_000
const PERSON = { chat_user_id: '184402700000000002', username: 'milo' }
const daysFromNow = (days: number) => new Date(Date.now() + days * DAY_MS)

/** A session last used and ending so many days from now. */
const session = (seen: number, end: number) => {
  const times = { created_at: daysFromNow(-20), seen_at: daysFromNow(seen) }
  return { id: newId(), sha256: newId(), ...PERSON, ...times, expires_at: daysFromNow(end) }
}
const appToken = (end: number) => {
  const { chat_user_id } = PERSON
  const times = { created_at: daysFromNow(-119), expires_at: daysFromNow(end) }
  return { id: newId(), chat_user_id, app_name: 'signage', ...times }
}
const machineToken = (org_id: number, end: number | null) => {
  const kept = { kind: 'app' as const, scopes: ['org:read'], limits: '{}', created_by: '1' }
  const expires_at = end === null ? null : daysFromNow(end)
  return {
    id: newId(),
    org_id,
    name: 'app',
    sha256: newId(),
    display: 'plat_',
    ...kept,
    expires_at,
  }
}

/** Runs the job as its clock does. */
async function prune({ db }: TestAuth) {
  const id = await db.transaction().execute((trx) => queueJob(trx, pruneJobs.auth, {}))
  const run = () =>
    db.selectFrom('job_runs').select('state').where('id', '=', id).executeTakeFirst()
  await until(async () => (await run())?.state === 'done')
}

async function idsOf({ db }: TestAuth, table: 'member_sessions' | 'app_tokens' | 'machine_tokens') {
  return (await db.selectFrom(table).select('id').orderBy('id').execute()).map(({ id }) => id)
}

test('sessions that were idle for 7 days or are at their end are pruned', async (t) => {
  const auth = await testAuth(t)
  const live = session(-6.9, 1)
  const rows = [live, session(-7.1, 1), session(0, -0.1)]
  await auth.db.insertInto('member_sessions').values(rows).execute()
  await prune(auth)
  assert.deepEqual(await idsOf(auth, 'member_sessions'), [live.id])
})

test('app tokens are pruned at their end, machine tokens 30 days later', async (t) => {
  const auth = await testAuth(t)
  const app = appToken(0.1)
  await auth.db
    .insertInto('app_tokens')
    .values([app, appToken(-0.1)])
    .execute()
  const tokens = [null, 1, -29.9, -30.1].map((end) => machineToken(auth.org.id, end))
  await auth.db.insertInto('machine_tokens').values(tokens).execute()
  await prune(auth)
  assert.deepEqual(await idsOf(auth, 'app_tokens'), [app.id])
  const kept = tokens.slice(0, 3).map(({ id }) => id)
  assert.deepEqual(await idsOf(auth, 'machine_tokens'), kept.sort())
})
