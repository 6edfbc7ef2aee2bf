import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schemaOf } from '@guildhall/bus/testing'
import { newId } from '@guildhall/service/id'
import { migrations, type Tables } from '../db.ts'
import { problemsOf, sectionsOf } from './dashboard.ts'

const at = new Date('2031-05-10T12:00:00Z')

test('whether an org syncs and what failed is said of the org alone', async (t) => {
  const db = await schemaOf<Tables>(t, 'calendar', migrations)
  const ids = { notes_database_id: null, google_calendar_id: null, updated_at: at }
  const settings = { ...ids, calendar_marker: newId(), calendar_sync_enabled: true }
  await db
    .insertInto('settings')
    .values({ ...settings, org_id: 2, last_sync_at: at })
    .execute()
  let made = 0
  const runOf = (
    org_id: number,
    status: 'failed' | 'success' | 'started',
    error: string | null,
  ) => {
    const lease = { lease_id: null, leased_until: null }
    const finished_at = status === 'started' ? null : at
    made += 1
    const row = {
      id: newId(at.getTime() + made),
      org_id,
      force: false,
      status,
      error,
      code: null,
      started_at: at,
    }
    return db
      .insertInto('runs')
      .values({ ...row, ...lease, finished_at })
      .execute()
  }
  await runOf(1, 'failed', 'of before')
  await runOf(1, 'success', null)
  await runOf(2, 'success', null)
  await runOf(2, 'failed', 'No such database')
  await runOf(2, 'started', null)

  const none = { sync_enabled: false, last_sync_at: null }
  assert.deepEqual(await sectionsOf(db, 1), { calendar: none })
  const last_sync_at = at.toISOString()
  assert.deepEqual(await sectionsOf(db, 2), { calendar: { sync_enabled: true, last_sync_at } })
  assert.deepEqual(await problemsOf(db, 1), [])
  assert.deepEqual(await problemsOf(db, 2), [
    { kind: 'sync', key: 'calendar', message: 'No such database', at: last_sync_at },
  ])
})
