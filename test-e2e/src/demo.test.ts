import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getFeed, getFeedHistory, runFeedNow } from '@guildhall/contracts/alerts'
import { queryPack } from '@guildhall/contracts/packs'
import { people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { testStack } from './stack.ts'

const RUN_MS = 30_000

test('the demo club has a feed that posts to a channel anybody can look at, and a web search to ask', async (t) => {
  const stack = await testStack(t)
  const { access_token } = await stack.signIn(people.officer)
  const officer = stack.as(access_token)
  const params = { org: 'demo', key: 'demo-internships' }
  const made = await officer.call(getFeed, { params })
  assert.ok(made.status === 200 && made.body.feed.webhook_set && !made.body.feed.enabled)
  const { chatChannelUrl, world } = stack.sandbox
  const channel = async () => (await fetch(chatChannelUrl)).text()
  assert.match(await channel(), /Nothing was posted yet/)
  await officer.call(runFeedNow, { params, body: { post_existing: true } })
  const { runs, items } = await until(async () => {
    const reply = await officer.call(getFeedHistory, { params })
    return reply.status === 200 && reply.body.runs.length > 0 && reply.body
  }, RUN_MS)
  assert.deepEqual([runs[0]?.posted, runs[0]?.error, items.length], [3, null, 5])
  const page = await channel()
  for (const title of ['Backend Intern at Acme', 'Data Intern at Acme', 'Platform Intern'])
    assert.ok(page.includes(title), title)
  assert.ok(!page.includes(String(world.webhooks?.[0]?.token)))

  const agent = stack.as((await stack.machineToken(access_token, ['knowledge:read'])).token)
  const answer = await agent.call(queryPack, {
    params: { pack: 'campus' },
    body: { source: 'web', params: { words: 'robots & co' } },
  })
  assert.ok(answer.status === 200, JSON.stringify(answer.body))
  assert.match(answer.body.text, /^1\. Result 1 for robots & co\nhttps:/)
})
