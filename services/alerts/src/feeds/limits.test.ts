import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  deleteFeed,
  getFeed,
  getFeedHistory,
  MOST_FEEDS,
  retryItem,
  runFeedNow,
} from '@guildhall/contracts/alerts'
import { newId } from '@guildhall/service/id'
import { REPO, testAlerts } from '../testing.ts'

test('of ten who make the fiftieth feed of an org at once one does, and another org has its own fifty', async (t) => {
  const alerts = await testAlerts(t)
  const { db, put, webhook_url } = alerts
  const config = JSON.stringify({ repo: REPO })
  const rest = { org_id: 1, kind: 'github_jobs' as const, config, every_hours: 3, enabled: false }
  const rows = Array.from({ length: MOST_FEEDS - 1 }, (_, n) => ({
    ...{ ...rest, id: newId(), key: `old-${n}`, created_at: new Date() },
    ...{ seeded_at: null, last_run_at: null, last_error: null, lease_id: null, leased_until: null },
  }))
  await db.insertInto('feeds').values(rows).execute()
  const body = { kind: 'github_jobs' as const, webhook_url, config: { repo: REPO } }
  const replies = await Promise.all(Array.from({ length: 10 }, (_, n) => put(body, `new-${n}`)))
  const counts = Object.groupBy(replies, ({ status }) => status)
  assert.deepEqual([counts[201]?.length, counts[409]?.length], [1, 9])
  const made = replies.findIndex(({ status }) => status === 201)
  assert.deepEqual([...alerts.secrets.keys()], [`1 alert_webhook_new-${made}`])
  assert.equal((await put({ every_hours: 6 }, 'old-0')).status, 200)
  assert.equal((await put(body, 'first', 2)).status, 201)
})

test('a feed and an item that there are not are 404, and a key that is none is 400', async (t) => {
  const alerts = await testAlerts(t)
  await alerts.make()
  const officer = alerts.officer()
  const none = { params: { org: 'org1', key: 'none' } }
  const replies = [
    await officer.call(getFeed, none),
    await officer.call(getFeedHistory, none),
    await officer.call(runFeedNow, { ...none, body: {} }),
    await officer.call(deleteFeed, none),
    await officer.call(retryItem, { params: { ...none.params, id: newId() } }),
    await officer.call(retryItem, { params: { ...alerts.params, id: newId() } }),
    await alerts.officer(2).call(getFeed, { params: { org: 'org2', key: 'jobs' } }),
  ]
  assert.deepEqual(
    replies.map(({ status }) => status),
    replies.map(() => 404),
  )
  for (const key of ['Jobs', 'a_b', 'x'.repeat(41)]) {
    const reply = await alerts.put({ kind: 'github_jobs' }, key)
    assert.equal(reply.status, 400, key)
  }
  assert.deepEqual([...alerts.secrets.keys()], ['1 alert_webhook_jobs'])
  const { webhook_url } = alerts
  const body = { kind: 'github_jobs' as const, webhook_url, config: { repo: REPO } }
  assert.equal((await alerts.put(body, 'x'.repeat(40))).status, 201)
})
