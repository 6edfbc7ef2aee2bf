import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  migratedDatabase,
  TEST_INTERNAL_KEY,
  testBroker,
  testEnvironment,
} from '@guildhall/bus/testing'
import { putFeed, runFeedNow } from '@guildhall/contracts/alerts'
import { createPod, getPod } from '@guildhall/contracts/compute'
import { putSource } from '@guildhall/contracts/knowledge'
import { services } from '@guildhall/contracts/names'
import { assignPoints, getLeaderboard } from '@guildhall/contracts/points'
import { people } from '@guildhall/sandbox/demo'
import { PROGRAMS, testSandbox } from '@guildhall/sandbox/testing'
import type { World } from '@guildhall/sandbox/world'
import { startProcesses } from '@guildhall/scripts/compose/run'
import { parts } from '@guildhall/scripts/services'
import { cleanUp, until } from '@guildhall/service/testing'
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { newHome } from './launched.ts'
import { bearer, type Client, clientOf, machineTokenOf, signIn } from './people.ts'
import { operatorAt } from './run-operator.ts'

const org = { params: { org: 'demo' } }
const SECOND_MS = 1_000

async function testProcesses(t: TestContext) {
  const home = await newHome(t)
  const migrations = Object.fromEntries(
    services.map((service) => [service, parts[service].migrations]),
  )
  const [DATABASE_URL, { url: NATS_URL }] = await Promise.all([
    migratedDatabase(t, migrations),
    testBroker(t),
  ])
  const servers = { DATABASE_URL, NATS_URL, INTERNAL_KEY: TEST_INTERNAL_KEY }
  const { world, trackerDsn } = await testSandbox(t)
  const tracker = { TRACKER_DSN: trackerDsn, TRACKER_TRACES_SAMPLE_RATE: '1' }
  const env = { ...(await testEnvironment()), LOG_LEVEL: 'error', ...servers, ...tracker }
  const processes = await startProcesses({ home, env, programs: PROGRAMS })
  cleanUp(t, () => processes[Symbol.asyncDispose]())
  return { ...processes, home, world }
}

test('the processes of docker-compose.yml, each started by its own line, are a whole Guildhall', async (t) => {
  const processes = await testProcesses(t)
  const { url, pids } = processes
  assert.deepEqual(Object.keys(pids()).sort(), ['gateway', ...services].sort())
  assert.equal(new Set(Object.values(pids())).size, services.length + 1)

  const officer = clientOf(url, (await signIn(url, people.officer)).access_token)
  const scopes = ['knowledge:read', 'knowledge:write'] as const
  const { token } = await machineTokenOf(officer, [...scopes])
  await writesAndFinds(t, url, token)
  await earnsPoints(officer)
  await runsPod(officer)
  await traces(officer, processes.world)

  process.kill(pids().store ?? assert.fail(), 'SIGKILL')
  await until(async () => (await leaders(officer))?.[0]?.total_points === 30, 30 * SECOND_MS)

  const command = operatorAt({
    settings: processes.environmentOf('operator'),
    home: processes.home,
  })
  const checked = await command('config', 'check')
  assert.equal(checked.code, 0, checked.out + checked.err)
})

/** A source by HTTP, and the search for it as a tool of MCP. */
async function writesAndFinds(t: TestContext, url: string, token: string) {
  const chunks = [{ ordinal: 0, content: 'The gliders meet at the old hangar on Fridays.' }]
  const params = { key: 'handbook/gliders' }
  const put = await clientOf(url, token).call(putSource, {
    params,
    body: { category: 'clubs', title: 'Gliders', chunks },
  })
  assert.equal(put.status, 201, JSON.stringify(put.body))
  const agent = new McpClient({ name: 'test', version: '1' })
  await agent.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', url), {
      requestInit: { headers: bearer(token) },
    }),
  )
  cleanUp(t, () => agent.close())
  await until(async () => {
    const found = await agent.callTool({ name: 'knowledge.search', arguments: { query: 'hangar' } })
    return JSON.stringify(found).includes('handbook/gliders')
  }, 30 * SECOND_MS)
}

async function earnsPoints(officer: Client) {
  const body = { chat_user_id: people.member.id, points: 30, event: 'Helped' }
  assert.equal((await officer.call(assignPoints, { ...org, body })).status, 201)
  assert.equal((await leaders(officer))?.[0]?.total_points, 30)
}

/** The standings, or nothing while the store is away. */
async function leaders(officer: Client) {
  const reply = await officer.call(getLeaderboard, org)
  return reply.status === 200 ? reply.body : undefined
}

async function runsPod(officer: Client) {
  const made = await officer.call(createPod, { ...org, body: { allowed_users: [] } })
  assert.ok(made.status === 201, JSON.stringify(made.body))
  const params = { org: 'demo', pod_id: made.body.pod.id }
  await until(async () => {
    const reply = await officer.call(getPod, { params })
    return reply.status === 200 && reply.body.pod.status === 'RUNNING'
  }, 30 * SECOND_MS)
}

interface Span {
  name: string
  trace_id: string
  attributes: { part: { value: string } }
}

/** One trace leads through the gateway, the service, one that it asks over NATS, and the job that it queues. */
async function traces(officer: Client, world: World) {
  const params = { org: 'demo', key: 'demo-internships' }
  const feed = { params, body: { config: { repo: 'nobody/none' } } }
  assert.equal((await officer.call(putFeed, feed)).status, 200)
  assert.equal((await officer.call(runFeedNow, { params, body: {} })).status, 202)
  const spans = () =>
    ((world.tracked ?? []) as { type: string; payload: { items: Span[] } }[])
      .filter(({ type }) => type === 'span')
      .flatMap(({ payload }) => payload.items)
  // each process sends its steps by itself, some sooner than others
  await until(() => {
    const job = spans().find(({ name }) => name === 'alerts.run_feed')
    const same = spans().filter(({ trace_id }) => trace_id === job?.trace_id)
    const parts = same.map(({ name, attributes }) => `${attributes.part.value} ${name}`)
    return [
      `gateway POST ${runFeedNow.url}`,
      `alerts POST ${runFeedNow.url}`,
      'alerts alerts.run_feed',
      'auth ',
    ].every((step) => parts.some((one) => one.startsWith(step)))
  }, 60 * SECOND_MS)
}
