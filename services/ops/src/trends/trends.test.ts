import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { audit } from '@guildhall/bus/outbox'
import { tellJobDays } from '@guildhall/contracts/job-runs'
import { toolUsed } from '@guildhall/contracts/mcp'
import { getTrends, tellTrends } from '@guildhall/contracts/trends'
import { newId } from '@guildhall/service/id'
import { storeAudit } from '../audit/store.ts'
import { officerOf, opsWith, params } from '../testing-services.ts'

const DAY_MS = 86_400_000
const ago = (days: number) => new Date(Date.now() - days * DAY_MS)
const dateOf = (at: Date) => at.toISOString().slice(0, 10)
const by = { source: 'mcp', actor_kind: 'machine', actor_id: newId() } as const
/** A line as mcp sends it of a tool that was called then. */
const line = (at: Date, { org = 1, status = 200 } = {}) => {
  const refused = status >= 400
  const said = { tool: 'org.trends', code: refused ? 'tool.arguments' : null }
  const outcome = refused ? 'refused' : 'done'
  const sent = audit(toolUsed, by, { id: org }, { ...said, outcome }, refused ? status : null)
  return { ...sent.payload, created_at: at.toISOString() }
}

test('a series has one value for each UTC day up to today, and zero where nothing happened', async (t) => {
  const { bus, heard, db, as } = await opsWith(t, 'store', 'alerts')
  const today = dateOf(new Date())
  const points = [{ date: today, value: 12.5, failed: 0 }]
  answer(bus('store'), tellTrends('store'), async () => ({
    points: [...points, { date: '1999-01-01', value: 7, failed: 0 }],
    orders: [],
  }))
  for (const [peer, value] of [['store', 2] as const, ['alerts', 3] as const])
    answer(bus(peer), tellJobDays(peer), async () => ({
      days: [{ date: today, value, failed: 1 }],
    }))
  await heard()
  await storeAudit(db, line(ago(1)))
  await storeAudit(db, line(ago(1), { status: 400 }))
  const first = Date.parse(`${dateOf(ago(6))}T00:00:00Z`)
  await storeAudit(db, line(new Date(first)))
  await storeAudit(db, line(new Date(first - 1)))
  await storeAudit(db, line(ago(0), { org: 2 }))

  const officer = as(officerOf(1, ['points', 'alerts']))
  const reply = await officer.call(getTrends, { params, query: { days: '7' } })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  const { series, days, unavailable } = reply.body
  assert.equal(days, 7)
  const dates = Array.from({ length: 7 }, (_, n) => dateOf(ago(6 - n)))
  for (const one of series)
    assert.deepEqual(
      one.days.map(({ date }) => date),
      dates,
    )
  assert.deepEqual(
    series.map(({ key, total, failed }) => [key, total, failed]),
    [
      ['actions', 3, 1],
      ['jobs', 5, 2],
      ['points', 12.5, 0],
    ],
  )
  assert.deepEqual(series[2]?.days.at(-1), points[0])
  assert.deepEqual(unavailable, ['jobs', 'alert_posts'])
})

test('trends go back 7 to 90 days', async (t) => {
  const { as } = await opsWith(t)
  const officer = as(officerOf(1, []))
  for (const [days, status] of Object.entries({ 6: 400, 7: 200, 90: 200, 91: 400 })) {
    const reply = await officer.call(getTrends, { params, query: { days } })
    assert.equal(reply.status, status, days)
  }
})
