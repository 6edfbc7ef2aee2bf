import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import type { Feed, FeedItem } from '@guildhall/contracts/alerts'
import { callOf } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { jobRow, orgOf, REPO, TOKEN, tableOf, testAlerts } from '../testing.ts'

test('an agent with the scope makes, runs, reads and deletes a feed by its tools, and is never told the webhook', async (t) => {
  const alerts = await testAlerts(t)
  const { files, hook, webhook_url, secrets, db } = alerts
  files['README.md'] = tableOf(jobRow('One'))
  const mcp = await busAs(t, { url: alerts.settings.NATS_URL, peer: 'mcp' })
  const said: unknown[] = []
  async function use<T>(
    name: string,
    input: Record<string, unknown> = {},
    { preview = false, scopes = SCOPES } = {},
  ) {
    const tool = tools.find((one) => one.name === name) ?? assert.fail(name)
    const caller = { token_id: newId(), token_kind: 'agent' as const, name: 'helper', scopes }
    const args = { caller, org: orgOf(1), input, preview }
    const { answer } = await ask(mcp, callOf(tool), args)
    said.push(answer)
    return answer as T
  }
  const key = 'jobs'
  const feed = { key, kind: 'github_jobs', webhook_url, config: { repo: REPO } }
  await assert.rejects(use('alerts.save', feed, { scopes: ['calendar:read'] }), {
    kind: 'forbidden',
  })
  assert.equal(secrets.size, 0)
  assert.ok((await use<{ feed: Feed }>('alerts.save', feed)).feed.webhook_set)
  assert.equal((await use<{ feeds: Feed[] }>('alerts.list')).feeds.length, 1)
  await use('alerts.run', { key, post_existing: true })
  await until(() => hook.messages.length === 1, 30_000)
  const { items } = await until(async () => {
    const history = await use<{ runs: unknown[]; items: FeedItem[] }>('alerts.history', { key })
    return history.runs.length === 1 && history
  })
  assert.equal(items[0]?.state, 'posted')

  await use('alerts.delete', { key }, { preview: true })
  assert.equal(secrets.size, 1, 'a preview deletes nothing')
  await use('alerts.delete', { key })
  assert.equal(secrets.size, 0)
  await assert.rejects(use('alerts.delete', { key }), { code: 'feed.not_found' })
  const lines = await db.selectFrom('outbox').select('payload').execute()
  const machine = lines.filter(({ payload }) => JSON.stringify(payload).includes('"machine"'))
  assert.ok(machine.length >= 3, 'each change is told with the agent who made it')
  assert.ok(!JSON.stringify([said, lines]).includes(TOKEN))
})

const SCOPES = ['alerts:manage']
