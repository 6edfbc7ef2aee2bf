import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listFeeds, type NewFeed } from '@guildhall/contracts/alerts'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { REPO, TOKEN, testAlerts } from '../testing.ts'

test('of ten who make a feed at once one does, and its webhook is in no answer and no table', async (t) => {
  const alerts = await testAlerts(t)
  const replies = await Promise.all(Array.from({ length: 10 }, () => alerts.make()))
  assert.deepEqual(
    replies.map(({ status }) => status).sort(),
    [...Array<number>(9).fill(200), 201].sort(),
  )
  const list = await alerts.officer().call(listFeeds, { params: { org: 'org1' } })
  assert.ok(list.status === 200 && list.body.feeds.length === 1 && list.body.feeds[0]?.webhook_set)
  const rows = await alerts.db.selectFrom('feeds').selectAll().execute()
  const lines = await alerts.db.selectFrom('outbox').selectAll().execute()
  assert.ok(!JSON.stringify([replies, list, rows, lines]).includes(TOKEN))
  const other = await alerts.officer(2).call(listFeeds, { params: { org: 'org2' } })
  assert.deepEqual(other.body, { feeds: [] })
})

test('a webhook must lead where webhooks may, and a refusal does not quote it', async (t) => {
  const alerts = await testAlerts(t)
  for (const webhook_url of [
    `https://evil.test/${TOKEN}`,
    `http://discord.com/api/webhooks/1/${TOKEN}`,
    `https://discord.com.evil.test/${TOKEN}`,
    `https://user:${TOKEN}@discord.com/api/webhooks/1/2`,
    `nonsense ${TOKEN}`,
  ]) {
    const reply = await alerts.make({ webhook_url })
    assert.equal(reply.status, 400)
    assert.ok(!JSON.stringify(reply.body).includes(TOKEN))
  }
  assert.equal(alerts.secrets.size, 0)
})

const REFUSED: [what: string, body: NewFeed, status: number][] = [
  ['no kind', { kind: undefined }, 400],
  ['no webhook', { webhook_url: undefined }, 400],
  ['no repository', { config: {} }, 400],
  ['a repository that climbs', { config: { repo: 'a/..' } }, 400],
  ['a path that climbs', { config: { repo: REPO, path: '../x' } }, 400],
  ['a field that there is not', { config: { repo: REPO, nonsense: 1 } }, 400],
  ['a source that there is not', { kind: 'hackathons', config: { sources: ['x'] } }, 400],
]
for (const [what, body, status] of REFUSED) {
  test(`a feed with ${what} is refused, and keeps no webhook`, async (t) => {
    const alerts = await testAlerts(t)
    assert.equal((await alerts.make(body)).status, status)
    assert.equal(alerts.secrets.size, 0)
  })
}

test('a change merges, the kind stays, and without SECRETS_KEY nothing is made', async (t) => {
  const alerts = await testAlerts(t)
  await alerts.make({ config: { repo: REPO, label: 'Internship' } })
  const changed = await alerts.put({ every_hours: 12, config: { max_age_days: 0 } })
  assert.ok(changed.status === 200)
  const { config, every_hours, enabled } = changed.body.feed
  assert.deepEqual([every_hours, enabled], [12, true])
  assert.deepEqual(
    { ...config },
    {
      ...{ repo: REPO, branch: 'main', path: 'README.md', label: 'Internship' },
      ...{ skip_closed: true, max_age_days: 0 },
    },
  )
  assert.equal((await alerts.put({ kind: 'hackathons' })).status, 409)
  alerts.state.keyUnset = true
  const refused = await alerts.put({ kind: 'hackathons', webhook_url: alerts.webhook_url }, 'other')
  assert.equal(refused.status, 503)
})

test('of ten who make a feed of two kinds at once, those who are refused leave no webhook', async (t) => {
  const alerts = await testAlerts(t)
  const kinds = ['github_jobs', 'hackathons'] as const
  const sent = Array.from({ length: 10 }, (_, n) => ({
    kind: kinds[n % 2],
    webhook_url: `${alerts.webhook_url}${n}`,
    ...(n % 2 === 0 && { config: { repo: REPO } }),
  }))
  const replies = await Promise.all(sent.map((body) => alerts.put(body)))
  const taken = replies.flatMap(({ status }, n) => (status === 409 ? [] : [sent[n]?.webhook_url]))
  assert.equal(taken.length, 5)
  assert.deepEqual(alerts.stored.toSorted(), taken.toSorted())
})

test('who makes a feed again while it is deleted makes it after that, with its webhook', async (t) => {
  const alerts = await testAlerts(t)
  await alerts.make()
  const asked = alerts.holdSecrets()
  const removed = alerts.remove()
  await asked
  let answered = false
  const made = alerts.make().finally(() => {
    answered = true
  })
  const waiting = sql`select from pg_locks where locktype = 'advisory' and not granted`
  await until(async () => answered || (await waiting.execute(alerts.db)).rows.length > 0)
  alerts.letSecretsGo()
  assert.deepEqual([(await removed).status, (await made).status], [200, 201])
  assert.deepEqual([...alerts.secrets.keys()], ['1 alert_webhook_jobs'])
})
