import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { putConversation } from '@guildhall/contracts/agent-conversations'
import { commitTurn } from '@guildhall/contracts/agent-turns'
import type { Route } from '@guildhall/contracts/route'
import { routes } from '@guildhall/contracts/routes'
import { wholeFile } from '@guildhall/service/testing'
import { MEMBER, OTHER, type TestAgents, testAgents } from './testing.ts'

const SECRET = 'only-for-the-owner'
const conversation_id = randomUUID() as string
const pending_id = randomUUID() as string
const node = (label: string) => ({ kind: 'thing', label })
const ends = { subject: node(`${SECRET} a`), relation: 'is', object: node(`${SECRET} b`) }
const place = { channel_id: 'den', visibility: 'private' as const }
const message = { role: 'user', content: 'by a stranger' }

let agents: TestAgents
let memory_id: string
const file = wholeFile()
before(async () => {
  agents = await testAgents(file)
  agents.world.embedder = () => new Array(1024).fill(1)
  const body = {
    ...{ conversation_id, ...place, messages: [{ role: 'user' as const, content: SECRET }] },
    memories: [{ kind: 'semantic' as const, content: SECRET }],
    facts: [ends],
    pending: [{ id: pending_id, action: { SECRET }, payload_hash: SECRET }],
  }
  const made = await agents.agent().call(commitTurn, { params: { chat_user_id: MEMBER }, body })
  assert.ok(made.status === 201, JSON.stringify(made.body))
  memory_id = made.body.memory_ids[0] ?? assert.fail()
  await agents.settled()
})

/** What a stranger sends to each route, with the ids of the owner's things, and the statuses that are no leak. */
const tries: Record<string, { body?: unknown; query?: object; statuses: number[] }> = {
  putConversation: { body: place, statuses: [409] },
  getConversation: { statuses: [200] },
  listMessages: { statuses: [404] },
  appendMessages: { body: { messages: [message] }, statuses: [404] },
  addSummary: { body: { content: 'x', covers: 1 }, statuses: [404] },
  findLatest: { statuses: [200] },
  endChannel: { statuses: [200] },
  listMemories: { statuses: [200] },
  addMemory: { body: { kind: 'task', content: 'by a stranger' }, statuses: [201] },
  deleteMemory: { statuses: [404] },
  deleteMemberData: { statuses: [200] },
  getProfile: { statuses: [200] },
  addFacts: { body: { facts: [{ ...ends, object: node('x') }] }, statuses: [200] },
  matchRelations: { query: { subject: `${SECRET} a` }, statuses: [200] },
  findSimilarNodes: { query: { text: 'anything' }, statuses: [200] },
  deleteRelation: { body: ends, statuses: [404] },
  deleteNodes: { query: { label: `${SECRET} a` }, statuses: [200] },
  holdPending: { body: { action: {}, payload_hash: 'x' }, statuses: [409] },
  claimPending: { body: { approved: true }, statuses: [404] },
  readTurnContext: { body: { conversation_id, visibility: 'private' }, statuses: [200] },
  commitTurn: { body: { conversation_id, ...place, messages: [message] }, statuses: [409] },
  listHeld: { statuses: [200] },
  exportHeld: { statuses: [200] },
  deleteHeld: { statuses: [200] },
  deleteMyConversation: { statuses: [404] },
  deleteMyMemory: { statuses: [404] },
}

const TABLES = ['conversations', 'memories', 'nodes', 'relations', 'pending_actions'] as const
/** Every row of the owner, as it stands. */
async function held() {
  const tables = TABLES.map((table) =>
    agents.db
      .selectFrom(table)
      .selectAll()
      .where('org_id', '=', 1)
      .where('chat_user_id', '=', MEMBER)
      .orderBy('id')
      .execute(),
  )
  const messages = agents.db.selectFrom('messages').selectAll().orderBy('seq').execute()
  return JSON.stringify(await Promise.all([...tables, messages]))
}

const ours = routes.filter(({ route }) => route.owner === 'agents')

test('every route of agents is tried', () => {
  assert.deepEqual(ours.map(({ name }) => name).sort(), Object.keys(tries).sort())
})

for (const { name, route } of ours) {
  test(`${name} neither shows nor changes what is another member's, or the same person's in another org`, async () => {
    const tried = tries[name] ?? assert.fail()
    const before = await held()
    for (const [chat_user_id, org] of [
      [OTHER, 1],
      [MEMBER, 2],
    ] as const) {
      const byMember = route.caller.accepts.some((kind) => kind === 'member')
      const client = byMember ? agents.member(chat_user_id, org) : agents.agent(org)
      const all = { chat_user_id, conversation_id, memory_id, pending_id, channel_id: 'den' }
      const params = { ...all, org: `org${org}` }
      const { query = {}, body, statuses } = tried
      const args = { params, query, ...(body !== undefined && { body }) }
      const reply = await client.call(route as Route, args as never)
      assert.ok(statuses.includes(reply.status), `${reply.status} ${JSON.stringify(reply.body)}`)
      const told = await textOf(reply.body)
      // what a stranger named themselves may come back
      if (name !== 'addFacts') assert.ok(!told.replaceAll(`${SECRET} a`, '').includes(SECRET), told)
    }
    assert.equal(await held(), before)
  })
}

/** The text of an answer, also of one that streams. */
async function textOf(body: unknown) {
  return body instanceof ReadableStream ? new Response(body).text() : JSON.stringify(body)
}

test('the owner still has it all', async () => {
  const params = { chat_user_id: MEMBER, conversation_id }
  const reply = await agents.agent().call(putConversation, { params, body: place })
  assert.deepEqual(reply, { status: 200, body: { id: conversation_id, state: 'open' } })
})
