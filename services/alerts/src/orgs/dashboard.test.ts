import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schemaOf } from '@guildhall/bus/testing'
import { newId } from '@guildhall/service/id'
import { migrations, type Tables } from '../db.ts'
import { problemsOf, sectionsOf, trendsOf } from './dashboard.ts'

const NOON = '2031-05-10T12:00:00Z'

test('counts, posts of a day and failing feeds are those of the org alone', async (t) => {
  const db = await schemaOf<Tables>(t, 'alerts', migrations)
  const feedOf = async (org_id: number, key: string, more: object = {}) => {
    const id = newId()
    const lease = { lease_id: null, leased_until: null }
    const row = { id, org_id, key, kind: 'github_jobs' as const, config: '{}', every_hours: 3 }
    const times = { seeded_at: null, last_run_at: new Date(NOON), created_at: new Date(NOON) }
    await db
      .insertInto('feeds')
      .values({ ...row, ...times, ...lease, enabled: true, last_error: null, ...more })
      .execute()
    return id
  }
  const itemOf = (feed_id: string, at: string, more: { state: 'posted' } | object) => {
    const listed_at = new Date(at)
    const row = { id: newId(), feed_id, key: newId(), title: 'x', url: null, embed: '{}' }
    const rest = { claim_id: null, claimed_until: null, error: null, created_at: listed_at }
    const state = 'posted' as const
    return db
      .insertInto('items')
      .values({ ...row, ...rest, listed_at, state, ...more })
      .execute()
  }
  for (const [n, org_id] of [1, 2, 2].entries()) {
    const feed = await feedOf(org_id, `good${n}`, { posted: 3 })
    await feedOf(org_id, `bad${n}`, { last_error: 'No list' })
    await feedOf(org_id, `off${n}`, { last_error: 'No list', enabled: false })
    await itemOf(feed, '2031-05-08T23:59:59Z', {})
    await itemOf(feed, '2031-05-09T00:00:00Z', {})
    await itemOf(feed, '2031-05-09T23:59:59Z', { state: 'uncertain' })
    await itemOf(feed, '2031-05-10T00:00:00Z', { state: 'new', refusals: 1 })
    await itemOf(feed, '2031-05-10T01:00:00Z', { state: 'recorded' })
  }
  for (const org of [1, 2]) {
    const alerts = { feeds: 3 * org, enabled: 2 * org, failing: org, posted: 3 * org }
    assert.deepEqual(await sectionsOf(db, org), { alerts })
    const { alert_posts } = await trendsOf(db, org, '2031-05-09T00:00:00Z')
    assert.deepEqual(
      alert_posts.toSorted((a, b) => a.date.localeCompare(b.date)),
      [
        { date: '2031-05-09', value: org, failed: org },
        { date: '2031-05-10', value: 0, failed: org },
      ],
    )
  }
  const at = new Date(NOON).toISOString()
  assert.deepEqual(await problemsOf(db, 1), [{ kind: 'feed', key: 'bad0', message: 'No list', at }])
  assert.deepEqual((await problemsOf(db, 2)).map(({ key }) => key).sort(), ['bad1', 'bad2'])
})
