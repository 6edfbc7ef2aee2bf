import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { claimPending } from '@guildhall/contracts/agent-pending'
import { findSimilarNodes } from '@guildhall/contracts/agent-profile'
import { deleteHeld, exportHeld, listHeld } from '@guildhall/contracts/agent-self'
import { commitTurn, readTurnContext } from '@guildhall/contracts/agent-turns'
import { createClient } from '@guildhall/contracts/client'
import { listOrgAudit } from '@guildhall/contracts/ops'
import { putModules } from '@guildhall/contracts/orgs'
import { people } from '@guildhall/sandbox/demo'
import { until, wholeFile } from '@guildhall/service/testing'
import { memberSession } from './people.ts'
import { type TestStack, testStack } from './stack.ts'

let stack: TestStack
const file = wholeFile()
before(async () => {
  stack = await testStack(file)
})

const params = { chat_user_id: people.member.id }
const me = { params: { org: 'demo' } }
const turnOf = () => ({
  conversation_id: randomUUID() as string,
  channel_id: 'general',
  visibility: 'private' as const,
})

/** A client with the cookie of a member's browser. */
async function browserOf(person: { id: string }) {
  const { session } = await memberSession(stack.url, person)
  const origin = new URL(String(stack.settings.CLIENT_URL)).origin
  const headers = { cookie: session, origin }
  return createClient((path, init) =>
    fetch(stack.url + path, { ...init, headers: { ...init.headers, ...headers } }),
  )
}

async function agentOf() {
  const officer = (await stack.signIn(people.officer)).access_token
  const { token } = await stack.machineToken(officer, ['agents:read', 'agents:write'])
  return { officer: stack.as(officer), agent: stack.as(token), token: officer }
}

test('an agent talks with a member, who sees it, takes it along and has it deleted', async () => {
  const { officer, agent, token } = await agentOf()
  const turn = turnOf()
  const pending = { id: randomUUID() as string, action: { award: 5 }, payload_hash: 'h' }
  const node = (label: string) => ({ kind: 'drink', label })
  const committed = await agent.call(commitTurn, {
    params,
    body: {
      ...turn,
      messages: [{ role: 'user', content: 'I take my tea black' }],
      memories: [{ kind: 'profile', content: 'is ill', sensitivity: 'sensitive' }],
      facts: [{ subject: node('tea'), relation: 'goes with', object: node('biscuits') }],
      pending: [pending],
    },
  })
  assert.ok(committed.status === 201, JSON.stringify(committed.body))
  const read = await agent.call(readTurnContext, { params, body: turn })
  assert.ok(read.status === 200, JSON.stringify(read.body))
  assert.equal(read.body.member.is_officer, false)
  assert.equal(read.body.messages?.[0]?.content, 'I take my tea black')
  assert.equal(read.body.memories?.[0]?.content, 'is ill')
  const similar = await agent.call(findSimilarNodes, { params, query: { text: 'drink: tea' } })
  assert.ok(similar.status === 200, JSON.stringify(similar.body))
  assert.equal(similar.body.nodes[0]?.label, 'tea')
  const claim = { params: { ...params, pending_id: pending.id }, body: { approved: true } }
  assert.equal((await agent.call(claimPending, claim)).status, 200)

  const [member, stranger] = [await browserOf(people.member), await browserOf(people.stranger)]
  assert.equal((await stranger.call(listHeld, me)).status, 403)
  const held = await member.call(listHeld, me)
  assert.ok(held.status === 200 && held.body.counts.conversations === 1)
  const taken = await member.call(exportHeld, me)
  assert.ok(taken.status === 200)
  const text = await new Response(ReadableStream.from(taken.body)).text()
  for (const part of ['I take my tea black', 'is ill', 'biscuits']) assert.ok(text.includes(part))
  assert.deepEqual((await member.call(deleteHeld, me)).body, { deleted: 5 })
  const empty = await member.call(listHeld, me)
  assert.ok(empty.status === 200 && empty.body.counts.conversations === 0)

  const org_id = String(await stack.orgId(token))
  const actions = await until(async () => {
    const query = { action: 'agents.' }
    const log = await officer.call(listOrgAudit, { params: { org_id }, query })
    assert.ok(log.status === 200)
    assert.ok(!JSON.stringify(log.body).includes('tea'))
    return log.body.entries.length === 3 && log.body.entries.map(({ action }) => action)
  })
  assert.deepEqual(actions.sort(), [
    'agents.member.erased',
    'agents.member.exported',
    'agents.pending.answered',
  ])
})

test('a turn is refused for who is not on the server, and an agent of another club sees nothing', async () => {
  const { agent } = await agentOf()
  const turn = turnOf()
  const messages = [{ role: 'user' as const, content: 'hello' }]
  const elsewhere = { params: { chat_user_id: people.stranger.id }, body: { ...turn, messages } }
  const refused = await agent.call(commitTurn, elsewhere)
  assert.ok(refused.status === 403 && refused.body.code === 'member.not_in_server')
  assert.equal((await agent.call(commitTurn, { params, body: { ...turn, messages } })).status, 201)
  const rival = (await stack.signIn(people.rivalOfficer)).access_token
  const { token } = await stack.machineToken(rival, ['agents:read', 'agents:write'], 'rival')
  const read = await stack.as(token).call(readTurnContext, { params, body: turn })
  assert.ok(
    read.status === 403 || (read.status === 200 && !read.body.conversation.owned),
    JSON.stringify(read.body),
  )
})

test('while agents is off its routes are none, for agents and members', async () => {
  const { officer, agent, token } = await agentOf()
  const org_id = String(await stack.orgId(token))
  const member = await browserOf(people.member)
  const statuses = async () => [
    (await agent.call(readTurnContext, { params, body: turnOf() })).status,
    (await member.call(listHeld, me)).status,
  ]
  const turn = (agents: boolean) =>
    officer.call(putModules, { params: { org_id }, body: { modules: { agents } } })
  await turn(false)
  await until(async () => (await statuses()).every((status) => status === 404))
  await turn(true)
  await until(async () => (await statuses()).every((status) => status === 200))
})
