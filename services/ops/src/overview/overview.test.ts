import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import {
  getOverview,
  listActivity,
  sectionOwners,
  tellSections,
} from '@guildhall/contracts/dashboard'
import { listJobRuns } from '@guildhall/contracts/job-runs'
import { tellProblems } from '@guildhall/contracts/notifications'
import { newId } from '@guildhall/service/id'
import { z } from 'zod'
import { storeAudit } from '../audit/store.ts'
import { officerOf, opsWith, params } from '../testing-services.ts'

const line = (org_id: number, action: string) => ({
  id: newId(),
  created_at: new Date().toISOString(),
  source: 'http',
  action,
  org_id,
  actor_kind: 'officer',
  actor_id: '12345',
  status: null,
  details: {},
})
const SILENT = { unavailable: true }

test('the overview has each section from its service, and says which do not answer', async (t) => {
  const { bus, heard, officer, db } = await opsWith(t, 'store', 'alerts')
  const members = { total: 3, joined_recently: 1 }
  const points = { balances: 40, awarded_recently: 15 }
  const storefront = { products: 2, sold_out: 1, orders_open: 0, orders_recently: 4 }
  const alerts = { feeds: 2, enabled: 1, failing: 1, posted: 9 }
  answer(bus('store'), tellSections('store'), async () => ({ members, points, storefront }))
  answer(bus('alerts'), tellSections('alerts'), async () => ({ alerts }))
  const problem = { kind: 'feed' as const, key: 'jobs', message: 'No list', at: null }
  answer(bus('alerts'), tellProblems('alerts'), async () => ({ problems: [problem] }))
  await heard()
  await storeAudit(db, line(1, 'auth.org.created'))
  await storeAudit(db, line(2, 'auth.org.purged'))

  const reply = await officer.call(getOverview, { params })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  const { sections, organization, problems, activity, jobs } = reply.body
  assert.deepEqual(organization, { id: 1, prefix: 'org1', name: 'Org 1' })
  assert.deepEqual(sections, {
    ...Object.fromEntries(Object.keys(sectionOwners).map((name) => [name, SILENT])),
    ...{ members, points, storefront, alerts },
  })
  assert.deepEqual(
    problems.map(({ key, message }) => [key, message]),
    [['jobs', 'No list']],
  )
  assert.deepEqual(
    activity.map(({ action }) => action),
    ['auth.org.created'],
  )
  assert.deepEqual(jobs, [])
})

test('a service of another revision, which answers in another way, counts as one that does not', async (t) => {
  const { bus, heard, officer } = await opsWith(t, 'store', 'alerts')
  const alerts = { feeds: 2, enabled: 1, failing: 1, posted: 9 }
  answer(bus('alerts'), tellSections('alerts'), async () => ({ alerts }))
  const ofAnother = { ...tellSections('store'), reply: z.object({ members: z.object({}) }) }
  answer(bus('store'), ofAnother, async () => ({ members: {} }))
  await heard()
  const reply = await officer.call(getOverview, { params })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  assert.deepEqual([reply.body.sections.members, reply.body.sections.alerts], [SILENT, alerts])
})

test('a service that hangs holds the overview up for two seconds and not longer', async (t) => {
  const { bus, heard, officer } = await opsWith(t, 'knowledge')
  answer(bus('knowledge'), tellSections('knowledge'), () => new Promise(() => {}))
  await heard()
  const began = performance.now()
  const reply = await officer.call(getOverview, { params })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  assert.deepEqual(reply.body.sections.knowledge, SILENT)
  const took = performance.now() - began
  assert.ok(took > 1_900 && took < 4_000, `${took} ms`)
})

test('a module that is off has no section, and its problems are no notifications', async (t) => {
  const ops = await opsWith(t, 'store', 'alerts')
  const problem = { kind: 'feed' as const, key: 'jobs', message: 'No list', at: null }
  answer(ops.bus('alerts'), tellProblems('alerts'), async () => ({ problems: [problem] }))
  await ops.heard()
  const reply = await ops.as(officerOf(1, ['points'])).call(getOverview, { params })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  assert.deepEqual(Object.keys(reply.body.sections), ['members', 'points', 'tokens'])
  assert.deepEqual(reply.body.problems, [])
})

test('activity pages through the audit lines of the org alone', async (t) => {
  const { officer, db } = await opsWith(t)
  for (const action of ['auth.a.b', 'auth.c.d', 'auth.e.f']) await storeAudit(db, line(1, action))
  await storeAudit(db, line(2, 'auth.x.y'))
  const page = async (query: { limit: string; cursor?: string }) => {
    const reply = await officer.call(listActivity, { params, query })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return [reply.body.activity.map(({ action }) => action), reply.body.next_cursor] as const
  }
  const [first, cursor] = await page({ limit: '2' })
  const [second, end] = await page({ limit: '2', cursor: String(cursor) })
  const seen = [...first, ...second]
  assert.equal(end, null)
  assert.deepEqual(seen, ['auth.e.f', 'auth.c.d', 'auth.a.b'])
})

test('a tool sees activity and jobs with the scope activity:read alone', async (t) => {
  const { bus, heard, as, db } = await opsWith(t, 'alerts')
  const run = { id: newId(), job: 'alerts.run_feed', state: 'done' as const, attempts: 1 }
  const times = { queued_at: new Date().toISOString(), started_at: null, finished_at: null }
  answer(bus('alerts'), listJobRuns('alerts'), async () => ({
    runs: [{ ...run, ...times, error: null, result: null }],
  }))
  await heard()
  await storeAudit(db, line(1, 'auth.org.created'))
  const seen = async (...scopes: string[]) => {
    const token = { token_id: 't', token_kind: 'agent' as const, name: 'a', tool: 'org.overview' }
    const caller = { ...token, kind: 'machine' as const, scopes }
    const reply = await as({ ...officerOf(1), caller }).call(getOverview, { params })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return [reply.body.activity.length, reply.body.jobs.length]
  }
  assert.deepEqual(await seen('org:read'), [0, 0])
  assert.deepEqual(await seen('org:read', 'activity:read'), [1, 1])
})
