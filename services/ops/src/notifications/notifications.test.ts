import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { getOverview } from '@guildhall/contracts/dashboard'
import type { Service } from '@guildhall/contracts/names'
import {
  findResolved,
  forgetMended,
  listNotifications,
  MOST_PROBLEMS,
  type Problem,
  reopenNotifications,
  resolveNotifications,
  tellProblems,
} from '@guildhall/contracts/notifications'
import { findJobRun, listOrgAudit, startJob } from '@guildhall/contracts/ops'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { officerOf, opsWith, params } from '../testing-services.ts'

const feed = (key: string, message: string, at = '2031-01-01T00:00:00Z'): Problem => ({
  kind: 'feed',
  key,
  message,
  at,
})

async function setUp(t: TestContext) {
  const ops = await opsWith(t, 'alerts', 'compute', 'knowledge', 'calendar')
  const told = { problems: [feed('a', 'No list'), feed('b', 'No hook', '2031-01-02T00:00:00Z')] }
  /** What org 2 has in place of it, and what happens while it is asked for. */
  const also: { ofTwo?: Problem[]; meanwhile?: (() => Promise<unknown>) | undefined } = {}
  answer(ops.bus('alerts'), tellProblems('alerts'), async ({ org_id }) => {
    const problems = (org_id === 2 && also.ofTwo) || told.problems
    const { meanwhile } = also
    also.meanwhile = undefined
    await meanwhile?.()
    return { problems }
  })
  await ops.heard()
  const list = async (status: 'open' | 'resolved' | 'all' = 'open', org = 1) => {
    const reply = await ops
      .as(officerOf(org))
      .call(listNotifications, { params, query: { status } })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body
  }
  const keys = async (status?: 'open' | 'resolved' | 'all', org?: number) =>
    (await list(status, org)).notifications.map(({ key }) => key)
  const idOf = async (key: string) =>
    (await list('all')).notifications.find((one) => one.key === key)?.id ?? assert.fail(key)
  const resolve = async (...ids: string[]) =>
    (await ops.officer.call(resolveNotifications, { params, body: { ids } })).body
  const reopen = async (...ids: string[]) =>
    (await ops.officer.call(reopenNotifications, { params, body: { ids } })).body
  /** From now on these services answer that all is well. */
  const tell = async (...services: Service[]) => {
    for (const one of services)
      answer(ops.bus(one), tellProblems(one), async () => ({ problems: [] }))
    await ops.heard()
  }
  const operator = await busAs(t, { url: ops.settings.NATS_URL, peer: 'operator' })
  const forget = async () => {
    const id = newId()
    await ask(operator, startJob('ops'), { id, job: forgetMended.name, args: {} })
    await until(async () => (await ask(operator, findJobRun('ops'), { id })).run?.state === 'done')
  }
  return { ...ops, told, also, list, keys, idOf, resolve, reopen, tell, forget }
}

test('what failed stands in the list, the latest first, with the services that did not tell', async (t) => {
  const { list, keys } = await setUp(t)
  assert.deepEqual(await keys(), ['b', 'a'])
  const { unavailable } = await list()
  assert.deepEqual(unavailable, ['compute', 'knowledge', 'calendar'])
})

test('a resolved notification is closed for its org until somebody reopens it', async (t) => {
  const { keys, idOf, resolve, reopen, list, officer } = await setUp(t)
  const id = await idOf('a')
  assert.deepEqual(await resolve(id), { resolved: 1 })
  assert.deepEqual(await resolve(id), { resolved: 0 })
  assert.deepEqual([await keys('open'), await keys('resolved')], [['b'], ['a']])
  assert.deepEqual(await keys('open', 2), ['b', 'a'])
  const overview = await officer.call(getOverview, { params })
  assert.ok(overview.status === 200)
  assert.deepEqual(
    overview.body.problems.map(({ key }) => key),
    ['b'],
  )
  const [closed] = (await list('resolved')).notifications
  assert.equal(closed?.resolved_by, '12345')
  assert.deepEqual(await reopen(id), { reopened: 1 })
  assert.deepEqual(await reopen(id), { reopened: 0 })
  assert.deepEqual(await keys('open'), ['b', 'a'])
  await until(async () => {
    const query = { action: 'ops.notifications' }
    const audit = await officer.call(listOrgAudit, { params: { org_id: '1' }, query })
    return audit.status === 200 && audit.body.entries.length === 2
  })
})

test('a changed message opens again, and one that was only seen later does not', async (t) => {
  const { told, keys, idOf, resolve } = await setUp(t)
  await resolve(await idOf('a'), await idOf('b'))
  told.problems = [feed('a', 'No list', '2031-02-01T00:00:00Z'), feed('b', 'Refused')]
  assert.deepEqual(await keys('open'), ['b'])
})

test('what was resolved opens again when it comes back after it was mended', async (t) => {
  const { told, keys, idOf, resolve, tell, forget, as, settings } = await setUp(t)
  await tell('compute', 'knowledge', 'calendar')
  await resolve(await idOf('a'), await idOf('b'))
  await as(officerOf(2)).call(resolveNotifications, { params, body: { ids: [await idOf('b')] } })
  await forget()
  assert.deepEqual(await keys('open'), [])

  const [a, b] = told.problems
  assert.ok(a && b)
  told.problems = [b]
  await forget()
  told.problems = [a, b]
  assert.deepEqual([await keys('open'), await keys('resolved')], [['a'], ['b']])
  assert.deepEqual(await keys('resolved', 2), ['b'])
  const auth = await busAs(t, { url: settings.NATS_URL, peer: 'auth' })
  assert.deepEqual(await ask(auth, findResolved, { org_id: 1 }), { ids: [await idOf('b')] })
})

test('what is mended for one org stays resolved for another', async (t) => {
  const { told, also, keys, idOf, tell, forget, as } = await setUp(t)
  await tell('compute', 'knowledge', 'calendar')
  also.ofTwo = told.problems
  const body = { ids: [await idOf('b')] }
  for (const org of [1, 2]) await as(officerOf(org)).call(resolveNotifications, { params, body })
  told.problems = []
  await forget()
  assert.deepEqual(await keys('resolved', 2), ['b'])
})

test('what is resolved while the services are asked is not forgotten', async (t) => {
  const { told, also, keys, idOf, resolve, tell, forget } = await setUp(t)
  await tell('compute', 'knowledge', 'calendar')
  const [all, a] = [told.problems, await idOf('a')]
  await resolve(await idOf('b'))
  told.problems = all.filter(({ key }) => key === 'b')
  also.meanwhile = async () => {
    told.problems = all
    await resolve(a)
  }
  await forget()
  assert.deepEqual((await keys('resolved')).sort(), ['a', 'b'])
})

test('nothing is forgotten while a service is silent, or tells only the first of many', async (t) => {
  const { told, keys, idOf, resolve, tell, forget } = await setUp(t)
  const before = told.problems
  await tell('compute', 'knowledge')
  await resolve(await idOf('a'))
  told.problems = []
  await forget()
  await tell('calendar')
  told.problems = Array.from({ length: MOST_PROBLEMS }, (_, n) => feed(`other${n}`, 'No list'))
  await forget()
  told.problems = before
  assert.deepEqual(await keys('resolved'), ['a'])
})

test('ids that nobody tells of are not kept', async (t) => {
  const { resolve, db, officer } = await setUp(t)
  assert.deepEqual(await resolve('x'.repeat(43)), { resolved: 0 })
  assert.deepEqual(await db.selectFrom('resolved_notifications').selectAll().execute(), [])
  const bad = await officer.call(resolveNotifications, { params, body: { ids: ['1; drop'] } })
  assert.equal(bad.status, 400)
})
