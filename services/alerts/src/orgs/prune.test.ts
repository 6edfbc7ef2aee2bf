import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { HISTORY_ROWS, listFeeds, runFeedNow } from '@guildhall/contracts/alerts'
import { pruneJobs } from '@guildhall/contracts/ops'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { newId } from '@guildhall/service/id'
import { jobRow, REPO, tableOf, testAlerts } from '../testing.ts'

const DAY_MS = 86_400_000
const roles = (count: number) => Array.from({ length: count }, (_, n) => jobRow(`Role ${n}`))

test('an item is forgotten 90 days after its list held it last, not while it is listed nor while it is posted', async (t) => {
  const alerts = await testAlerts(t)
  const { db, files, clock } = alerts
  files['README.md'] = tableOf(...roles(4))
  await alerts.make({ config: { repo: REPO, max_age_days: 0 } })
  await alerts.run()
  const titles = async () => {
    const rows = await db.selectFrom('items').select('title').orderBy('title').execute()
    return rows.map(({ title }) => title)
  }
  const claim = { claim_id: newId(), claimed_until: new Date() }
  await db
    .updateTable('items')
    .set({ state: 'posting', ...claim })
    .where('title', 'like', '%Role 3%')
    .execute()
  files['README.md'] = tableOf(jobRow('Role 0'))

  clock.ahead = 89 * DAY_MS
  await alerts.run() // Role 0 is listed still
  assert.deepEqual((await alerts.runJob(pruneJobs.alerts)).result, { items: 0, runs: 0 })
  clock.ahead = 91 * DAY_MS
  assert.deepEqual((await alerts.runJob(pruneJobs.alerts)).result, { items: 2, runs: 0 })
  assert.deepEqual(await titles(), ['Job: Role 0 at Acme', 'Job: Role 3 at Acme'])
  assert.deepEqual((await alerts.runJob(pruneJobs.alerts)).result, { items: 0, runs: 0 })

  files['README.md'] = tableOf(jobRow('Role 0'))
  await alerts.run()
  assert.equal(alerts.hook.asked, 0, 'what is listed is remembered, and no news')
})

test('a feed keeps its last 50 runs, and no run of one feed pushes out those of another', async (t) => {
  const alerts = await testAlerts(t)
  const { db } = alerts
  await alerts.make()
  await alerts.put({ ...CONFIG, webhook_url: alerts.webhook_url }, 'other')
  const feeds = await db.selectFrom('feeds').select(['id', 'key']).orderBy('key').execute()
  const counts = { duration_ms: 1, new: 0, posted: 0, error: null }
  for (const { id: feed_id, key } of feeds) {
    const ids = Array.from({ length: key === 'jobs' ? HISTORY_ROWS + 7 : 3 }, newId).sort()
    const started_at = new Date()
    const rows = ids.map((id, found) => ({ id, feed_id, started_at, found, ...counts }))
    await db.insertInto('alert_runs').values(rows).execute()
  }
  assert.deepEqual((await alerts.runJob(pruneJobs.alerts)).result, { items: 0, runs: 7 })
  const { runs } = await alerts.history()
  assert.deepEqual([runs.length, HISTORY_ROWS], [50, 50])
  assert.deepEqual([runs[0]?.found, runs.at(-1)?.found], [HISTORY_ROWS + 6, 7])
  assert.deepEqual((await alerts.runJob(pruneJobs.alerts)).result, { items: 0, runs: 0 })
  const left = await db.selectFrom('alert_runs').select('id').execute()
  assert.equal(left.length, HISTORY_ROWS + 3)
})

test('a purge deletes every row of one org and none of another, and may be repeated', async (t) => {
  const alerts = await testAlerts(t)
  const { db, files } = alerts
  files['README.md'] = tableOf(...roles(3))
  for (const id of [1, 2]) {
    await alerts.put({ ...CONFIG, webhook_url: alerts.webhook_url }, 'jobs', id)
    await alerts.run({ org_id: id })
  }
  const params = { org: 'org1', key: 'jobs' }
  await alerts.officer().call(runFeedNow, { params, body: {} }) // queued, or going on
  const auth = await busAs(t, { url: alerts.settings.NATS_URL, peer: 'auth' })
  for (let n = 0; n < 2; n++) await ask(auth, purgeOrgOf('alerts'), { org_id: 1 })

  const kept = await db.selectFrom('feeds').select(['id', 'org_id']).execute()
  assert.deepEqual(
    kept.map(({ org_id }) => org_id),
    [2],
  )
  for (const table of ['items', 'alert_runs'] as const) {
    const rows = await db.selectFrom(table).select('feed_id').execute()
    assert.ok(rows.length > 0, table)
    assert.ok(
      rows.every(({ feed_id }) => feed_id === kept[0]?.id),
      table,
    )
  }
  const list = await alerts.officer().call(listFeeds, { params: { org: 'org1' } })
  assert.deepEqual(list.body, { feeds: [] })
  assert.deepEqual((await alerts.run({ org_id: 1 })).result, { outcome: 'not_taken' })
})

const CONFIG = { kind: 'github_jobs' as const, config: { repo: REPO } }
