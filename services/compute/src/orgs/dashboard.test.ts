import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { schemaOf } from '@guildhall/bus/testing'
import { newId } from '@guildhall/service/id'
import { type Db, migrations, type Tables } from '../db.ts'
import { problemsOf, sectionsOf, trendsOf } from './dashboard.ts'

const NOW = new Date('2031-05-10T12:00:00Z')
const hours = (n: number) => new Date(NOW.getTime() + n * 3_600_000)
const SINCE = '2031-05-09T00:00:00Z'
const day = (date: string, value: number, failed: number) => ({ date, value, failed })
const sorted = <T extends { date: string }>(days: T[]) =>
  days.toSorted((a, b) => a.date.localeCompare(b.date))

async function podOf(db: Db, org_id: number, n: number) {
  const id = newId()
  const pod = { name: `pod${n}`, is_public: false, allowed_users: [], machine: '{}' }
  const none = { host_key: null, host_key_start: null, schedule_lease: null }
  await db
    .insertInto('pods')
    .values({
      ...{ ...pod, ...none, id, org_id, state: 'live', pod_id: `p${n}`, created_by: null },
      ...{ created_at: NOW, schedule_lease_until: null },
    })
    .execute()
  return id
}

/** A session from and to so many hours from now. */
async function sessionOf(db: Db, pod: string, [from, to]: [number, number], more: object = {}) {
  const when = { start_at: hours(from), stop_at: hours(to), created_at: NOW }
  const row = { id: newId(), pod, title: 'Lab', created_by: '1', ...when, ...more }
  await db.insertInto('sessions').values(row).execute()
}

async function appOf(db: Db, org_id: number, name: string, states: ('failed' | 'deploying')[]) {
  const app = newId()
  const times = { created_at: NOW, updated_at: NOW }
  const none = { repo: null, manifest_path: null, current_tag: null, pod: null }
  await db
    .insertInto('apps')
    .values({ id: app, org_id, name, manifest: '{}', ...none, ...times })
    .execute()
  for (const [n, state] of states.entries()) {
    const over = state === 'failed' ? hours(-1) : null
    const deploy = {
      id: newId(NOW.getTime() + n),
      app,
      tag: `v${n}`,
      state,
      manifest: '{}',
      finished_at: over,
    }
    const empty = { ref: null, commit: null, error: null, pod: null, handed_at: null }
    await db
      .insertInto('deployments')
      .values({
        ...{ ...deploy, ...empty, rollback: false, started_before: null, created_by: '1' },
        created_at: NOW,
      })
      .execute()
  }
}

/** Org 1 has one of each, org 2 two. */
async function setUp(t: TestContext) {
  const db = await schemaOf<Tables>(t, 'compute', migrations)
  for (const [n, org_id] of [1, 2, 2].entries()) {
    const pod = await podOf(db, org_id, n)
    await sessionOf(db, pod, [-1, 1], { started: true })
    await sessionOf(db, pod, [2, 3])
    await sessionOf(db, pod, [4, 5], { removed: true })
    await sessionOf(db, pod, [-13, -11], { started: true, finished: true })
    await sessionOf(db, pod, [-37, -35], { started: true, finished: true })
    await sessionOf(db, pod, [-26, -24], { finished: true })
    await appOf(db, org_id, `broken${n}`, ['failed'])
    await appOf(db, org_id, `busy${n}`, ['failed', 'deploying'])
    await appOf(db, org_id, `new${n}`, [])
  }
  return db
}

test('the overview counts the pods, sessions and apps of the org alone', async (t) => {
  const db = await setUp(t)
  for (const org of [1, 2])
    assert.deepEqual(await sectionsOf(db, org, NOW), {
      compute: { pods: org, sessions_open: org, sessions_ahead: org },
      apps: { registered: 3 * org, deploying: org, failing: org },
    })
})

test('hours of a session count for the days on which they were, in UTC and up to now', async (t) => {
  const db = await setUp(t)
  for (const org of [1, 2]) {
    const { pod_hours } = await trendsOf(db, org, SINCE, NOW)
    assert.deepEqual(sorted(pod_hours), [
      day('2031-05-09', 2 * org, 2 * org),
      day('2031-05-10', 2 * org, 0),
    ])
  }
})

test('what does not work is the last deploy of an app and the sessions that did not start', async (t) => {
  const db = await setUp(t)
  const told = async (org: number) =>
    (await problemsOf(db, org, NOW)).map(({ kind, key }) => (kind === 'deploy' ? key : kind))
  assert.deepEqual((await told(1)).sort(), ['broken0', 'session'])
  assert.deepEqual((await told(2)).sort(), ['broken1', 'broken2', 'session', 'session'])
  const minutes = (n: number) => new Date(NOW.getTime() + n * 60_000)
  const late = async (now: Date) => (await problemsOf(db, 1, now)).length
  assert.deepEqual([await late(minutes(125)), await late(minutes(127))], [2, 3])
  assert.equal(await late(hours(-24 + 7 * 24 + 0.1)), 2)
})
