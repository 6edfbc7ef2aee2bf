import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getFeed, retryItem, runDueFeeds, runFeed, runFeedNow } from '@guildhall/contracts/alerts'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { jobRow, REPO, TOKEN, tableOf, testAlerts } from '../testing.ts'

const roles = (count: number, prefix = 'Role') =>
  Array.from({ length: count }, (_, n) => jobRow(`${prefix} ${n}`))

const titlesOf = ({
  messages,
}: {
  messages: { embeds?: { title?: string | undefined }[] | undefined }[]
}) => messages.map(({ embeds }) => embeds?.[0]?.title)

test('a first run records what is there, and later ones post what is new, the oldest first', async (t) => {
  const alerts = await testAlerts(t)
  alerts.files['README.md'] = tableOf(...roles(3))
  assert.equal((await alerts.make()).status, 201)
  const first = await alerts.run()
  assert.deepEqual(first.result, { outcome: 'ran', found: 3, new: 0, posted: 0, error: null })
  assert.equal(alerts.hook.asked, 0)

  alerts.files['README.md'] = tableOf(jobRow('Newest'), jobRow('Newer'), ...roles(3))
  const { result } = await alerts.run()
  assert.deepEqual(result, { outcome: 'ran', found: 5, new: 2, posted: 2, error: null })
  assert.deepEqual(titlesOf(alerts.hook), ['Job: Newer at Acme', 'Job: Newest at Acme'])
  const [message] = alerts.hook.messages
  assert.deepEqual(message?.allowed_mentions, { parse: [] })
  assert.equal(message?.embeds?.[0]?.url, 'https://jobs.test/Newer')
  assert.deepEqual(message?.embeds?.[0]?.footer, { text: REPO })
  await alerts.run()
  assert.equal(alerts.hook.messages.length, 2)

  const { runs, items } = await alerts.history()
  assert.deepEqual(
    runs.map((run) => [run.found, run.new, run.posted, run.error]),
    [
      [5, 0, 0, null],
      [5, 2, 2, null],
      [3, 0, 0, null],
    ],
  )
  assert.deepEqual(
    items.map(({ state }) => state),
    ['posted', 'posted', 'recorded', 'recorded', 'recorded'],
  )
  const reply = await alerts.officer().call(getFeed, { params: alerts.params })
  assert.ok(reply.status === 200 && reply.body.feed.seeded_at && reply.body.feed.last_run_at)
  assert.equal(reply.body.feed.posted, 2)
})

test('a run posts 25 at most, half a second apart, and the next one goes on', async (t) => {
  const alerts = await testAlerts(t)
  alerts.files['README.md'] = tableOf(...roles(30))
  await alerts.make()
  const run = await alerts.run({ post_existing: true })
  assert.deepEqual(run.result, { outcome: 'ran', found: 30, new: 30, posted: 25, error: null })
  const times = alerts.hook.messages.map(({ at }) => at)
  for (const [n, at] of times.entries())
    if (n > 0) assert.ok(at - (times[n - 1] ?? 0) >= 490, `${n}: ${at - (times[n - 1] ?? 0)} ms`)
  alerts.files['README.md'] = tableOf() // they go out all the same
  assert.equal(((await alerts.run()).result as { posted: number }).posted, 5)
  assert.equal(new Set(titlesOf(alerts.hook)).size, 30)
})

test('two replicas that are asked ten times to run a feed post each item once', async (t) => {
  const alerts = await testAlerts(t)
  await alerts.make()
  await alerts.run()
  await alerts.replica()
  alerts.files['README.md'] = tableOf(...roles(8))
  const args = { org_id: 1, key: 'jobs' }
  await Promise.all(Array.from({ length: 10 }, () => alerts.queue(runFeed, args)))
  await until(() => alerts.hook.messages.length >= 8, 60_000)
  // those that found the feed in hand come again and find nothing to post
  await until(async () => (await alerts.history()).runs.length >= 3, 60_000)
  assert.equal(alerts.hook.messages.length, 8)
  assert.equal(new Set(titlesOf(alerts.hook)).size, 8)
})

test('two who post at once, without a lease between them, post each item once', async (t) => {
  const alerts = await testAlerts(t)
  alerts.files['README.md'] = tableOf(...roles(6))
  await alerts.make()
  await alerts.db
    .updateTable('feeds')
    .set({ seeded_sources: [`${REPO}@main:README.md`] })
    .execute()
  const slow = alerts.queue(runFeed, { org_id: 1, key: 'jobs' })
  await until(() => alerts.hook.messages.length > 0, 30_000)
  await alerts.db
    .updateTable('feeds')
    .set({ leased_until: sql<Date>`now() - interval '1 second'` })
    .execute()
  await alerts.run()
  await slow
  assert.equal(new Set(titlesOf(alerts.hook)).size, 6)
  assert.equal(alerts.hook.messages.length, 6)
})

test('a webhook that answers 429 for a moment is waited for, and nothing is lost', async (t) => {
  const alerts = await testAlerts(t)
  await alerts.make()
  await alerts.run()
  alerts.files['README.md'] = tableOf(...roles(2))
  alerts.hook.limitedFor = 1
  const run = await alerts.run()
  assert.deepEqual(run.result, { outcome: 'ran', found: 2, new: 2, posted: 2, error: null })
  assert.equal(alerts.hook.asked, 3)
})

for (const [what, set, says] of [
  ['429 for long', { fault: 'rate_limited', retryAfterSeconds: 900 }, /429/],
  ['404', { id: 'other' }, /404.*new webhook_url/],
  ['401', { token: 'other' }, /401/],
] as const) {
  test(`a webhook that answers ${what} keeps its items new for the next run, and is told`, async (t) => {
    const alerts = await testAlerts(t)
    const { id, token } = alerts.hook
    await alerts.make()
    await alerts.run()
    alerts.files['README.md'] = tableOf(...roles(3))
    Object.assign(alerts.hook, set)
    const { result } = await alerts.run()
    const { posted, error } = result as { posted: number; error: string }
    assert.equal(posted, 0)
    assert.match(error, says)
    assert.ok(!error.includes(TOKEN) && !error.includes('70001'))
    const { body } = await alerts.officer().call(getFeed, { params: alerts.params })
    assert.ok('feed' in body && body.feed.waiting === 3 && body.feed.last_error === error)
    Object.assign(alerts.hook, { id, token, fault: undefined })
    await alerts.run()
    assert.equal(alerts.hook.messages.length, 3)
  })
}

for (const fault of ['hangs_after', 'drops', 'fails_after'] as const) {
  test(`a post whose outcome nobody knows (${fault}) is not repeated, is shown, and an officer retries it`, async (t) => {
    const alerts = await testAlerts(t)
    await alerts.make()
    await alerts.run()
    alerts.files['README.md'] = tableOf(...roles(2))
    alerts.hook.fault = fault
    const { result } = await alerts.run()
    assert.ok((result as { error: string }).error)
    assert.equal(alerts.hook.asked, 1)
    alerts.hook.fault = undefined
    await alerts.run()
    assert.equal(alerts.hook.asked, 2)
    const { items } = await alerts.history()
    assert.deepEqual(
      items.map(({ state }) => state),
      ['uncertain', 'posted'],
    )
    const [uncertain] = items
    assert.ok(uncertain?.error)
    const params = { ...alerts.params, id: uncertain.id }
    const retry = () => alerts.officer().call(retryItem, { params })
    const statuses = (await Promise.all([retry(), retry()])).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [200, 409])
    await alerts.run()
    assert.equal(alerts.hook.asked, 3)
  })
}

test('an item that the platform does not take holds up no other', async (t) => {
  const alerts = await testAlerts(t)
  await alerts.make()
  await alerts.run()
  alerts.files['README.md'] = tableOf(...roles(2))
  const { db } = alerts
  await alerts.put({ enabled: false })
  await db
    .updateTable('feeds')
    .set({ seeded_sources: [`${REPO}@main:README.md`] })
    .execute()
  alerts.hook.fault = 'rate_limited'
  alerts.hook.retryAfterSeconds = 900
  await alerts.run()
  alerts.hook.fault = undefined
  const [first] = await db.selectFrom('items').select('id').orderBy('seq').execute()
  const embed = JSON.stringify({ title: '', fields: [], footer: { text: 'x' } })
  await db
    .updateTable('items')
    .set({ embed })
    .where('id', '=', first?.id ?? '')
    .execute()
  const { result } = await alerts.run()
  assert.match((result as { error: string }).error, /400/)
  assert.equal(alerts.hook.messages.length, 1)
  assert.equal(alerts.hook.asked, 3)
})

test('the schedule runs what is enabled and due, in orgs with alerts on', async (t) => {
  const alerts = await testAlerts(t)
  await alerts.make({ every_hours: 1 })
  await alerts.make()
  const ran = async () => {
    await alerts.runJob(runDueFeeds)
    return until(async () => {
      const rows = await alerts.db.selectFrom('job_runs').select('state').execute()
      const all = rows.every(({ state }) => state === 'done')
      return all && `${(await alerts.history()).runs.length} runs`
    })
  }
  assert.equal(await ran(), '1 runs')
  assert.equal(await ran(), '1 runs')
  alerts.clock.ahead = 58 * 60_000
  assert.equal(await ran(), '2 runs')
  alerts.clock.ahead += 61 * 60_000
  alerts.state.off = true
  assert.equal(await ran(), '2 runs')
  alerts.state.off = false
  await alerts.put({ enabled: false })
  assert.equal(await ran(), '2 runs')
  const reply = await alerts.officer().call(runFeedNow, { params: alerts.params, body: {} })
  assert.equal(reply.status, 202)
  await until(async () => (await alerts.history()).runs.length === 3)
})

test('a list that cannot be read is told, and what was known stays', async (t) => {
  const alerts = await testAlerts(t)
  await alerts.make()
  await alerts.run()
  for (const [text, says] of [
    [undefined, /has no file README.md on main/],
    ['# Nothing', /no table with the columns/],
  ] as const) {
    if (text === undefined) delete alerts.files['README.md']
    else alerts.files['README.md'] = text
    const { state, result } = await alerts.run()
    assert.equal(state, 'done')
    assert.match((result as { error: string }).error, says)
  }
})

test('a feed that turns to another list records what that holds', async (t) => {
  const alerts = await testAlerts(t)
  await alerts.make()
  await alerts.run()
  alerts.files['OTHER.md'] = tableOf(...roles(3))
  await alerts.put({ config: { path: 'OTHER.md' } })
  await alerts.run()
  assert.equal(alerts.hook.asked, 0)
})
