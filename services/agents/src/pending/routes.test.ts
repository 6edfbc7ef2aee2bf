import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { claimPending, holdPending } from '@guildhall/contracts/agent-pending'
import { wholeFile } from '@guildhall/service/testing'
import { MEMBER, OTHER, type TestAgents, testAgents } from '../testing.ts'

let agents: TestAgents
const file = wholeFile()
before(async () => {
  agents = await testAgents(file)
})

const body = { action: { tool: 'points.award', args: { points: 5 } }, payload_hash: 'abc' }
const idOf = (chat_user_id = MEMBER) => ({ chat_user_id, pending_id: randomUUID() as string })
type Params = ReturnType<typeof idOf>

const hold = (params: Params, more: object = {}, org = 1) =>
  agents.agent(org).call(holdPending, { params, body: { ...body, ...more } })
const claim = (params: Params, approved = true, org = 1) =>
  agents.agent(org).call(claimPending, { params, body: { approved } })

test('of ten who claim an action at once one gets it, and the answer is audited once', async () => {
  const params = idOf()
  const held = await hold(params)
  assert.ok(held.status === 201 && held.body.held)
  const ttl = Date.parse(held.body.expires_at) - Date.now()
  assert.ok(ttl > 590_000 && ttl <= 600_000)
  const before = await agents.audited()
  const replies = await Promise.all(Array.from({ length: 10 }, () => claim(params)))
  const answered = replies.filter(({ status }) => status === 200)
  assert.deepEqual(
    answered.map((reply) => reply.body),
    [{ ...body, approved: true }],
  )
  for (const reply of replies.filter((one) => one.status !== 200))
    assert.ok(reply.status === 404 && reply.body.code === 'pending.not_found')
  const lines = (await agents.audited()).slice(before.length)
  assert.deepEqual(lines, ['agents.pending.answered'])
})

test('a claim may refuse; an id serves once, whoever sends it', async () => {
  const params = idOf()
  await hold(params)
  for (const reused of [
    await hold(params),
    await hold({ ...params, chat_user_id: OTHER }),
    await hold(params, {}, 2),
  ]) {
    assert.ok(reused.status === 409 && reused.body.code === 'pending.taken')
  }
  const refused = await claim(params, false)
  assert.ok(refused.status === 200 && refused.body.approved === false)
  assert.equal((await claim(params)).status, 404)
  assert.equal((await hold(params)).status, 409, 'answered, and still used')
})

test('unknown, expired and foreign actions are the same 404', async () => {
  const [params, expired] = [idOf(), idOf()]
  await hold(params)
  await hold(expired, { ttl_seconds: 5 })
  agents.clock.ahead += 6000
  const replies = [
    await claim(idOf()),
    await claim(expired),
    await claim({ ...params, chat_user_id: OTHER }),
    await claim(params, true, 2),
  ]
  const [first] = replies
  assert.equal(first?.status, 404)
  for (const reply of replies) assert.deepEqual(reply, first)
  assert.equal((await claim(params)).status, 200)
})

test('actions of the wrong shape are refused', async () => {
  for (const more of [
    { action: 'text' },
    { action: [] },
    { action: { text: 'x'.repeat(65_536) } },
    { payload_hash: '' },
    { ttl_seconds: 0 },
    { ttl_seconds: 1.5 },
    { ttl_seconds: 1e9 },
  ])
    assert.equal((await hold(idOf(), more)).status, 400, Object.keys(more).join())
  assert.equal((await hold({ ...idOf(), pending_id: 'one' })).status, 400)
  assert.equal((await claim(idOf(), 'yes' as never)).status, 400)
})
