import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { commitTurn } from '@guildhall/contracts/agent-turns'
import { pruneJobs } from '@guildhall/contracts/ops'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { MEMBER, type TestAgents, testAgents } from '../testing.ts'

const DAY_MS = 86_400_000

function turn(agents: TestAgents, conversation_id: string = randomUUID(), org = 1) {
  const node = (label: string) => ({ kind: 'thing', label })
  const body = {
    ...{ conversation_id, channel_id: 'den', visibility: 'private' as const },
    messages: [{ role: 'user' as const, content: 'x' }],
    memories: [{ kind: 'task' as const, content: 'x', expires_in_days: 3 }],
    facts: [{ subject: node('a'), relation: 'is', object: node('b') }],
    pending: [{ id: randomUUID(), action: {}, payload_hash: 'h' }],
  }
  return agents.agent(org).call(commitTurn, { params: { chat_user_id: MEMBER }, body })
}

async function counts({ db }: TestAgents) {
  const count = async (table: 'conversations' | 'messages' | 'memories' | 'pending_actions') =>
    (
      await db
        .selectFrom(table)
        .select((s) => s.lit(1).as('one'))
        .execute()
    ).length
  return Promise.all([
    count('conversations'),
    count('messages'),
    count('memories'),
    count('pending_actions'),
  ])
}

test('the prune job deletes old conversations, expired memories and old pending actions, and nothing else', async (t) => {
  const agents = await testAgents(t, { AGENT_RETENTION_DAYS: '10' })
  const kept = randomUUID()
  for (let n = 0; n < 2; n++) assert.equal((await turn(agents)).status, 201)
  await turn(agents, kept)
  const prune = async () => {
    const { state, result } = await agents.run(pruneJobs.agents)
    assert.equal(state, 'done')
    return result
  }
  assert.deepEqual(await prune(), { conversations: 0, memories: 0, pending: 0 })
  agents.clock.ahead += DAY_MS + 590_000
  assert.deepEqual(await prune(), { conversations: 0, memories: 0, pending: 0 })
  agents.clock.ahead += 20_000
  assert.deepEqual(await prune(), { conversations: 0, memories: 0, pending: 3 })
  agents.clock.ahead += 8 * DAY_MS
  await turn(agents, kept)
  agents.clock.ahead += DAY_MS
  assert.deepEqual(await prune(), { conversations: 2, memories: 3, pending: 0 })
  assert.deepEqual(await counts(agents), [1, 2, 1, 1])
})

test('a purge deletes all of the org and nothing of another, and may be repeated', async (t) => {
  const agents = await testAgents(t)
  await turn(agents)
  await turn(agents, randomUUID(), 2)
  const purge = () => ask(agents.auth, purgeOrgOf('agents'), { org_id: 1 })
  await purge()
  await purge()
  for (const table of [
    'conversations',
    'memories',
    'nodes',
    'relations',
    'pending_actions',
  ] as const) {
    const rows = await agents.db.selectFrom(table).select('org_id').execute()
    assert.deepEqual([...new Set(rows.map(({ org_id }) => org_id))], [2], table)
  }
  assert.deepEqual(await counts(agents), [1, 1, 1, 1])
})
