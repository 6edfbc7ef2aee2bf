import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putFeed, runFeedNow } from '@guildhall/contracts/alerts'
import { getOverview, listActivity, sectionOwners } from '@guildhall/contracts/dashboard'
import { listJobs, retryJob } from '@guildhall/contracts/job-runs'
import { useTool } from '@guildhall/contracts/mcp'
import { listNotifications, resolveNotifications } from '@guildhall/contracts/notifications'
import { assignPoints } from '@guildhall/contracts/points'
import type { Scope } from '@guildhall/contracts/tokens'
import { getTrends, seriesKeys } from '@guildhall/contracts/trends'
import { people } from '@guildhall/sandbox/demo'
import type { ChatWebhook } from '@guildhall/sandbox/world'
import { until } from '@guildhall/service/testing'
import { type TestStack, testStack } from './stack.ts'

const params = { org: 'demo' }

test('an officer sees at a glance what the org has, what happened and what does not work', async (t) => {
  const stack = await testStack(t)
  const { world, chatWebhooksUrl } = stack.sandbox
  const hook: ChatWebhook = { id: '70001', token: 'token-of-the-webhook', messages: [], asked: 0 }
  world.webhooks?.push(hook)
  const { access_token } = await stack.signIn(people.officer)
  const officer = stack.as(access_token)
  const overview = async () => {
    const reply = await officer.call(getOverview, { params })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body
  }

  const before = await overview()
  assert.deepEqual(Object.keys(before.sections).sort(), Object.keys(sectionOwners).sort())
  for (const [name, section] of Object.entries(before.sections))
    assert.ok(section && !('unavailable' in section), `${name} is unavailable`)

  const body = { chat_user_id: people.member.id, points: 40, event: 'Hike' }
  const given = await officer.call(assignPoints, { params, body })
  assert.ok(given.status < 300, JSON.stringify(given.body))
  const feed = { params: { ...params, key: 'broken' } }
  const webhook_url = `${chatWebhooksUrl}/${hook.id}/${hook.token}`
  const made = { kind: 'github_jobs' as const, webhook_url, config: { repo: 'nobody/nothing' } }
  assert.equal((await officer.call(putFeed, { ...feed, body: made })).status, 201)
  assert.equal((await officer.call(runFeedNow, { ...feed, body: {} })).status, 202)

  const problem = await until(async () => {
    const reply = await officer.call(listNotifications, { params, query: {} })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    assert.deepEqual(reply.body.unavailable, [])
    return reply.body.notifications.find(({ kind, key }) => kind === 'feed' && key === 'broken')
  }, 30_000)
  const ids = { params, body: { ids: [problem.id] } }
  assert.deepEqual((await officer.call(resolveNotifications, ids)).body, { resolved: 1 })
  const after = await until(async () => {
    const found = await overview()
    return found.activity.some(({ action }) => action.startsWith('ops.notifications')) && found
  })
  assert.deepEqual(after.problems, before.problems)
  const { points, alerts } = after.sections
  assert.ok(points && 'balances' in points && alerts && 'failing' in alerts)
  assert.ok(points.awarded_recently >= 40)
  assert.equal(alerts.failing, 1)

  const trends = await officer.call(getTrends, { params, query: {} })
  assert.ok(trends.status === 200, JSON.stringify(trends.body))
  assert.deepEqual(trends.body.unavailable, [])
  assert.deepEqual(
    trends.body.series.map(({ key }) => key),
    seriesKeys,
  )
  const total = (wanted: string) => trends.body.series.find(({ key }) => key === wanted)?.total ?? 0
  assert.ok(total('points') >= 40 && total('jobs') >= 1 && total('actions') >= 1)

  const jobs = await officer.call(listJobs, { params, query: {} })
  assert.ok(jobs.status === 200, JSON.stringify(jobs.body))
  assert.deepEqual(jobs.body.unavailable, [])
  const run = jobs.body.jobs.find(({ job }) => job === 'alerts.run_feed') ?? assert.fail()
  await until(async () => {
    const now = await officer.call(listJobs, { params, query: { state: 'done' } })
    return now.status === 200 && now.body.jobs.some(({ id }) => id === run.id)
  })
  const again = await officer.call(retryJob, { params: { ...params, id: run.id } })
  assert.deepEqual([again.status, 'code' in again.body && again.body.code], [409, 'job.not_failed'])
  const activity = await officer.call(listActivity, { params, query: { limit: '500' } })
  assert.ok(activity.status === 200 && activity.body.activity.length > 1)

  const toldTo = async (name: string, ...scopes: Scope[]) => {
    const agent = stack.as((await stack.machineToken(access_token, scopes)).token)
    const told = await agent.call(useTool, { params: { name }, body: {} })
    assert.ok(told.status === 200 && 'result' in told.body, JSON.stringify(told.body))
    return told.body.result as { activity: unknown[]; jobs: unknown[] }
  }
  await toldTo('org.trends', 'org:read')
  await seesRefusal(stack, access_token)
  const { activity: none, jobs: noJobs } = await toldTo('org.overview', 'org:read')
  assert.deepEqual([none, noJobs], [[], []])
  const more = await toldTo('org.overview', 'org:read', 'activity:read')
  assert.ok(more.activity.length > 0 && more.jobs.length > 0)
})

/** A tool call that is refused has its status in the audit log, and has failed in the trends. */
async function seesRefusal(stack: TestStack, access_token: string) {
  const officer = stack.as(access_token)
  const actions = async () => {
    const reply = await officer.call(getTrends, { params, query: {} })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body.series.find(({ key }) => key === 'actions') ?? assert.fail()
  }
  assert.equal((await actions()).failed, 0)
  const agent = stack.as((await stack.machineToken(access_token, ['org:read'])).token)
  const refused = await agent.call(useTool, { params: { name: 'org.trends' }, body: { days: 1 } })
  assert.equal(refused.status, 400)
  await until(async () => (await actions()).failed === 1)
  const { body } = await officer.call(listActivity, { params, query: {} })
  const lines = 'activity' in body ? body.activity : assert.fail()
  const of = lines.filter(({ action, status }) => action === 'mcp.tool.called' && status !== null)
  assert.deepEqual(
    of.map(({ status, details }) => [status, details.code]),
    [[400, 'tool.arguments']],
  )
}
