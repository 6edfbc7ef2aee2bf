import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runDueFeeds } from '@guildhall/contracts/alerts'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { jobRow, tableOf, testAlerts } from '../testing.ts'
import { keepLease, takeLease } from './leases.ts'

/** Longer than a lease goes without a renewal. */
const RENEWAL_MS = 20_000

test('an item that the platform refused goes after the others in the next run', async (t) => {
  const alerts = await testAlerts(t)
  const { db, hook } = alerts
  await alerts.make()
  await alerts.run()
  alerts.files['README.md'] = tableOf(jobRow('Bad'))
  Object.assign(hook, { fault: 'rate_limited', retryAfterSeconds: 900 })
  await alerts.run()
  hook.fault = undefined
  const embed = JSON.stringify({ title: '', fields: [], footer: { text: 'x' } })
  await db.updateTable('items').set({ embed }).execute()
  const { result } = await alerts.run()
  assert.match((result as { error: string }).error, /400/)

  alerts.files['README.md'] = tableOf(jobRow('Good'), jobRow('Bad'))
  const asked = alerts.holdSecrets()
  const next = alerts.run()
  await asked
  const claimed = db.selectFrom('items').select('title').where('state', '=', 'claimed')
  assert.deepEqual(await claimed.execute(), [{ title: 'Job: Good at Acme' }])
  alerts.letSecretsGo()
  await next
})

test('whoever held an item too long before the post does not post it, and the next run does', async (t) => {
  const alerts = await testAlerts(t)
  const { db, hook } = alerts
  await alerts.make()
  await alerts.run()
  alerts.files['README.md'] = tableOf(jobRow('One'))
  const asked = alerts.holdSecrets()
  const slow = alerts.run()
  await asked
  const past = sql<Date>`now() - interval '1 second'`
  await db.updateTable('items').set({ claimed_until: past }).execute()
  alerts.letSecretsGo()
  await slow
  assert.equal(hook.asked, 0)

  await alerts.runJob(runDueFeeds)
  await alerts.run()
  assert.equal(hook.messages.length, 1)
})

test('a run whose feed somebody else has by then is stopped', async (t) => {
  const alerts = await testAlerts(t)
  const { db } = alerts
  await alerts.make()
  const lease = await takeLease(db, 1, 'jobs')
  assert.ok(lease)
  const leasedUntil = () => db.selectFrom('feeds').select('leased_until').executeTakeFirstOrThrow()
  const past = sql<Date>`now() - interval '1 second'`
  await db.updateTable('feeds').set({ leased_until: past }).execute()
  t.mock.timers.enable({ apis: ['setInterval'] })
  using kept = keepLease(db, lease)
  t.mock.timers.tick(RENEWAL_MS)
  await until(async () => Number((await leasedUntil()).leased_until) > Date.now())
  assert.equal(kept.signal.aborted, false)

  await db.updateTable('feeds').set({ lease_id: newId() }).execute()
  t.mock.timers.tick(RENEWAL_MS)
  await until(() => kept.signal.aborted)
})
