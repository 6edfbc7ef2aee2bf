import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getFeed, runDueFeeds, runFeed } from '@guildhall/contracts/alerts'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { jobRow, REPO, TOKEN, tableOf, testAlerts } from '../testing.ts'
import { alertsProcess } from '../testing-process.ts'

test('killed while it posts, the item is told as uncertain and not posted again; the others go out once', async (t) => {
  const alerts = await testAlerts(t)
  const { db, hook } = alerts
  alerts.files['README.md'] = tableOf(jobRow('Three'), jobRow('Two'), jobRow('One'))
  await alerts.make()
  await db
    .updateTable('feeds')
    .set({ seeded_sources: [`${REPO}@main:README.md`] })
    .execute()
  await alerts.stop()

  const { kill, output } = await alertsProcess(t, alerts)
  hook.fault = 'hangs_after'
  await alerts.queue(runFeed, { org_id: 1, key: 'jobs' })
  await until(() => hook.messages.length === 1, 60_000) // it stands in the channel, and nobody was told
  await kill()
  hook.fault = undefined
  const states = async () => {
    const rows = await db.selectFrom('items').select('state').orderBy('seq').execute()
    return rows.map(({ state }) => state)
  }
  assert.deepEqual(await states(), ['posting', 'new', 'new'])
  assert.ok(!output.join('').includes(TOKEN))

  const past = sql<Date>`now() - interval '1 second'` // two minutes later
  await db.updateTable('feeds').set({ leased_until: past }).execute()
  await db
    .updateTable('items')
    .set({ claimed_until: past })
    .where('state', '=', 'posting')
    .execute()
  await alerts.replica()
  await alerts.runJob(runDueFeeds)
  await until(() => hook.messages.length === 3, 60_000)
  await until(async () => (await states()).every((state) => state !== 'posting'))
  assert.deepEqual(await states(), ['uncertain', 'posted', 'posted'])
  assert.equal(hook.asked, 3)
})

test('killed between claim and post, the item goes out once, in the next run', async (t) => {
  const alerts = await testAlerts(t)
  const { db, hook } = alerts
  alerts.files['README.md'] = tableOf(jobRow('One'))
  await alerts.make()
  await db
    .updateTable('feeds')
    .set({ seeded_sources: [`${REPO}@main:README.md`] })
    .execute()
  await alerts.stop()
  const { kill } = await alertsProcess(t, alerts)
  const asked = alerts.holdSecrets()
  await alerts.queue(runFeed, { org_id: 1, key: 'jobs' })
  await asked // it has claimed the item, and waits for the webhook
  await kill()
  alerts.letSecretsGo()
  const claimed = await db.selectFrom('items').select('state').executeTakeFirstOrThrow()
  assert.equal(claimed.state, 'claimed')

  const past = sql<Date>`now() - interval '1 second'`
  await db.updateTable('feeds').set({ leased_until: past }).execute()
  await db.updateTable('items').set({ claimed_until: past }).execute()
  await alerts.replica()
  await alerts.runJob(runDueFeeds)
  await until(() => hook.messages.length === 1, 60_000)
  assert.equal(hook.asked, 1)
})

test('a feed that is deleted while it posts ends its run', async (t) => {
  const alerts = await testAlerts(t)
  alerts.files['README.md'] = tableOf(...Array.from({ length: 8 }, (_, n) => jobRow(`Role ${n}`)))
  await alerts.make()
  const running = alerts.run({ post_existing: true })
  await until(() => alerts.hook.messages.length > 0, 60_000)
  await alerts.remove()
  const { result } = await running
  assert.deepEqual(result, { outcome: 'lost' })
  assert.ok(alerts.hook.messages.length < 8)
  assert.equal(alerts.secrets.size, 0)
  const reply = await alerts.officer().call(getFeed, { params: alerts.params })
  assert.equal(reply.status, 404)
})

test('a run waits in line for a feed that one had which ended with its process', async (t) => {
  const alerts = await testAlerts(t)
  await alerts.make()
  const leased_until = sql<Date>`now() + interval '2 seconds'`
  await alerts.db.updateTable('feeds').set({ lease_id: newId(), leased_until }).execute()
  const { attempts, result } = await alerts.run()
  assert.equal(attempts, 1)
  assert.equal((result as { outcome: string }).outcome, 'ran')
})
