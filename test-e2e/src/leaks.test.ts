import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getFeedHistory, putFeed, runFeedNow } from '@guildhall/contracts/alerts'
import { until } from '@guildhall/service/testing'
import { leaksIn, watchFetch } from './gather.ts'
import { ended, launch, newHome, ready, serverPids } from './launched.ts'
import {
  failingFlows,
  gathered,
  officerFlows,
  outage,
  RECOVERY_MS,
  signInFlows,
} from './leak-flows.ts'
import { type Client, clientOf } from './people.ts'

/** A feed that is refused another webhook, and posts to its own. */
async function feedFlow(officer: Client) {
  const params = { org: 'demo', key: 'demo-internships' }
  const webhook_url = 'https://127.0.0.1:9/api/webhooks/1/secret-path-of-no-webhook'
  assert.equal((await officer.call(putFeed, { params, body: { webhook_url } })).status, 400)
  await officer.call(runFeedNow, { params, body: { post_existing: true } })
  await until(async () => {
    const reply = await officer.call(getFeedHistory, { params })
    return reply.status === 200 && reply.body.runs[0]?.posted
  }, RECOVERY_MS)
}

test('no credential, key or secret reaches the output of a whole stack, whatever goes wrong', async (t) => {
  using watched = watchFetch()
  const home = await newHome(t)
  const stack = await launch(t, home, { LOG_LEVEL: 'debug', RATE_FAILED_SIGN_INS_PER_MINUTE: '0' })
  const url = await ready(stack)
  await signInFlows(url)
  const token = await officerFlows(url)
  await feedFlow(clientOf(url, token))
  await failingFlows(url, token)
  for (const pid of await serverPids(home)) await outage(url, pid, token)

  const secrets = await gathered(home, watched.secrets)
  stack.process.kill('SIGINT')
  assert.equal(await ended(stack.process), 0)
  assert.match(stack.output(), /POST \/api\/auth\/exchange/, 'requests are logged')
  assert.deepEqual(leaksIn(stack.output(), secrets), [])
})
