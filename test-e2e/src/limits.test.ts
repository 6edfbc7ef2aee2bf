import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ContextWanted } from '@guildhall/contracts/agent-turns'
import { putFeed } from '@guildhall/contracts/alerts'
import { jobs } from '@guildhall/contracts/calls'
import { putSource } from '@guildhall/contracts/knowledge'
import { routes } from '@guildhall/contracts/routes'
import { people } from '@guildhall/sandbox/demo'
import { parts } from '@guildhall/scripts/services'
import { wholeFile } from '@guildhall/service/testing'
import { decodeJwt } from 'jose'
import type { Client } from './people.ts'
import { type TestStack, testStack } from './stack.ts'

/** The rows of the specification's tables that no test of a service holds; rows.tsv names a test for every row. */
const MOST_CHUNKS = 5_000
const MOST_CHARS = 20_000
const EMBEDDING_LENGTH = 1_024

const file = wholeFile()
let stack: TestStack
let officer: Client
let agent: Client

before(async () => {
  stack = await testStack(file)
  const { access_token } = await stack.signIn(people.officer)
  officer = stack.as(access_token)
  const { token } = await stack.machineToken(access_token, ['knowledge:read', 'knowledge:write'])
  agent = stack.as(token)
})

test('an access token counts for 30 minutes', async () => {
  const { access_token, expires_in } = await stack.signIn(people.officer)
  const { iat = 0, exp } = decodeJwt(access_token)
  assert.deepEqual([exp, expires_in], [iat + 1800, 1800])
})

const texts = (count: number, content = 'x') =>
  Array.from({ length: count }, (_, ordinal) => ({ ordinal, content }))

async function written(
  key: string,
  chunks: { ordinal: number; content: string; embedding?: number[] }[],
) {
  const body = { category: 'limits', title: 'Limits', embedding_model: 'm', chunks }
  return (await agent.call(putSource, { params: { key }, body })).status
}

test('a source has 5000 chunks of 20000 characters at most', async () => {
  assert.equal(await written('most-chunks', texts(MOST_CHUNKS)), 201)
  assert.equal(await written('more-chunks', texts(MOST_CHUNKS + 1)), 400)
  assert.equal(await written('longest', texts(1, 'x'.repeat(MOST_CHARS))), 201)
  assert.equal(await written('longer', texts(1, 'x'.repeat(MOST_CHARS + 1))), 400)
})

test('an embedding has 1024 numbers', async () => {
  const numbers = (length: number) => [
    { ...texts(1)[0], ordinal: 0, content: 'x', embedding: Array(length).fill(0.5) },
  ]
  assert.equal(await written('embedded', numbers(EMBEDDING_LENGTH)), 201)
  for (const length of [EMBEDDING_LENGTH - 1, EMBEDDING_LENGTH + 1])
    assert.equal(await written('embedded', numbers(length)), 400)
})

test('the key of a source has 255 characters at most', async () => {
  assert.equal(await written('k'.repeat(255), texts(1)), 201)
  assert.equal(await written('k'.repeat(256), texts(1)), 400)
})

test('an alert feed runs every 1 to 168 hours, every 3 where nothing is said', async () => {
  const { chatWebhooksUrl, world } = stack.sandbox
  const [hook] = world.webhooks ?? []
  const webhook_url = `${chatWebhooksUrl}/${hook?.id}/${hook?.token}`
  const config = { sources: ['hackclub' as const] }
  const put = (key: string, every_hours?: number) =>
    officer.call(putFeed, {
      params: { org: 'demo', key },
      body: {
        kind: 'hackathons',
        config,
        webhook_url,
        ...(every_hours !== undefined && { every_hours }),
      },
    })
  for (const wrong of [0, 169, 1.5]) assert.equal((await put('wrong', wrong)).status, 400)
  for (const right of [1, 168]) assert.equal((await put(`every-${right}`, right)).status, 201)
  const made = await put('unsaid')
  assert.ok(made.status === 201, JSON.stringify(made.body))
  assert.equal(made.body.feed.every_hours, 3)
})

test('a turn is given 50 messages, 20 memories and 100 rows of the profile where nothing is said', () => {
  const wanted = ContextWanted.parse({
    conversation_id: '0198c0de-0000-7000-8000-000000000000',
    visibility: 'private',
  })
  assert.deepEqual([wanted.message_limit, wanted.memory_limit, wanted.profile_limit], [50, 20, 100])
})

test('conversations are kept for 180 days where nothing is set', () => {
  assert.equal(parts.agents.Settings.shape.AGENT_RETENTION_DAYS?.parse(undefined), 180)
})

for (const [name, cron] of [
  ['compute.schedule', '*/5 * * * *'],
  ['knowledge.crawl_due', '*/10 * * * *'],
  ['alerts.run_due', '*/15 * * * *'],
] as const) {
  test(`the job ${name} runs by ${cron}`, () => {
    assert.equal(jobs.find((job) => job.name === name)?.cron, cron)
  })
}

test('no path has a version', () => {
  const versioned = routes.map(({ route }) => route.url).filter((url) => /\/v\d+(\/|$)/.test(url))
  assert.deepEqual(versioned, [])
})
