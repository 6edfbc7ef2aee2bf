import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { getCi, putCiRepos } from '@guildhall/contracts/ci'
import { findSecrets } from '@guildhall/contracts/secrets'
import { testSandbox } from '@guildhall/sandbox/testing'
import { testOps } from '../testing.ts'
import { officerOf, params } from '../testing-services.ts'

const STARTED = '2031-01-01T10:00:00Z'
const run = {
  id: 1,
  name: 'Tests',
  head_branch: 'main',
  event: 'push',
  status: 'completed',
  conclusion: 'failure',
  display_title: 'Mend the roof',
  html_url: 'https://code.test/runs/1',
  run_started_at: STARTED,
  created_at: STARTED,
}
const repoOf = (name: string, hidden = false) => ({
  ...{ name, private: hidden, default_branch: 'main', refs: {}, files: {} },
  ...{ runs: [run], runsAsked: 0 },
})

async function setUp(t: TestContext) {
  const sandbox = await testSandbox(t)
  const [open, hidden] = [repoOf('club/site'), repoOf('club/secret', true)]
  sandbox.world.repos.push(open, hidden)
  const { codeHost } = sandbox.world.keys
  const clock = { ahead: 0 }
  const ops = await testOps(t, {
    now: () => new Date(Date.now() + clock.ahead),
    env: {
      CODEHOST_API_URL: sandbox.codeHostUrl,
      CODEHOST_TOKEN: codeHost, // sees private ones too
    },
  })
  const auth = await busAs(t, { url: ops.settings.NATS_URL, peer: 'auth' })
  answer(auth, findSecrets('ops'), async ({ org_id }) => ({
    secrets: org_id === 2 ? { github_token: codeHost } : {},
  }))
  await auth.nats.flush()
  const put = (repos: string[], org = 1) =>
    ops.as(officerOf(org)).call(putCiRepos, { params, body: { repos } })
  const ci = async (org = 1) => {
    const reply = await ops.as(officerOf(org)).call(getCi, { params })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body.repos
  }
  return { put, ci, open, clock }
}

test('each listed repository shows its latest runs, and is asked about once in 120 seconds', async (t) => {
  const { put, ci, open, clock } = await setUp(t)
  assert.deepEqual(await ci(), [])
  assert.deepEqual((await put(['club/site'])).body, { repos: ['club/site'] })
  const shown = {
    ...{ workflow: 'Tests', branch: 'main', event: 'push', status: 'completed' },
    ...{ conclusion: 'failure', title: 'Mend the roof', url: run.html_url, started_at: STARTED },
  }
  for (const _ of [1, 2])
    assert.deepEqual(await ci(), [{ repo: 'club/site', runs: [shown], error: null }])
  clock.ahead = 110_000
  await ci()
  assert.equal(open.runsAsked, 1)
  clock.ahead = 121_000
  await ci()
  assert.equal(open.runsAsked, 2)
})

test("a private repository shows its runs to the org whose own token reads it, and never by the deployment's", async (t) => {
  const { put, ci } = await setUp(t)
  for (const org of [1, 2]) await put(['club/secret', 'club/none'], org)
  const [hidden, none] = await ci(1)
  assert.deepEqual([hidden?.runs, none?.runs], [[], []])
  assert.match(String(hidden?.error), /no public repository club\/secret.*github_token/)
  const [read] = await ci(2)
  assert.deepEqual([read?.runs.length, read?.error], [1, null])
})

test('an org lists at most 20 repositories, each once and as owner/name', async (t) => {
  const { put } = await setUp(t)
  const many = (n: number) => Array.from({ length: n }, (_, i) => `club/r${i}`)
  assert.equal((await put(many(20))).status, 200)
  for (const wrong of [many(21), ['site'], ['a/b', 'A/b'], ['club/..'], ['club/a/b']])
    assert.equal((await put(wrong)).status, 400, JSON.stringify(wrong))
})
