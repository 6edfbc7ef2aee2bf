import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { getImport } from '@guildhall/contracts/point-imports'
import { getUserPoints } from '@guildhall/contracts/points'
import type { Scope } from '@guildhall/contracts/tokens'
import { callOf, type ToolArgs } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { until } from '@guildhall/service/testing'
import { at, madeMember, officer, testStore } from './testing.ts'
import { checkBooks } from './testing-books.ts'

const ADA = 'ada@example.org'
const token = {
  token_id: '01890000-0000-7000-8000-00000000000a',
  token_kind: 'agent' as const,
  name: 'helper',
}
const org = { id: 1, prefix: 'org1', name: 'Org 1', modules: ['points'], publisher: false }

/** The store, and its tools as mcp asks for them. */
async function setUp(t: TestContext, ...scopes: Scope[]) {
  const store = await testStore(t)
  const mcp = await busAs(t, { url: store.settings.NATS_URL, peer: 'mcp' })
  async function use(name: string, input: object = {}, more: Partial<ToolArgs> = {}) {
    const tool = tools.find((one) => one.name === name) ?? assert.fail(name)
    const caller = { ...token, scopes }
    const args = { caller, org, input: { ...input }, preview: false, ...more }
    return (await ask(mcp, callOf(tool), args)).answer as Record<string, unknown>
  }
  const entriesOf = async (identifier: string) => {
    const reply = await store
      .as(officer())
      .call(getUserPoints, { params: { org: 'org1', identifier } })
    return reply.status === 200 ? reply.body.points : []
  }
  const lines = async () => {
    const rows = await store.db.selectFrom('outbox').select('payload').orderBy('id').execute()
    return rows.flatMap(({ payload }) => {
      const { source, action, actor_id } = payload as Record<string, string>
      return actor_id === token.token_id ? [`${source} ${action}`] : []
    })
  }
  return { ...store, use, entriesOf, lines }
}

test('an agent awards once it has confirmed, once per key, in the name of its token', async (t) => {
  const store = await setUp(t, 'points:read', 'points:write')
  await madeMember(store, ADA)
  const award = { user_identifier: ADA, points: 7, event: 'Helped' }
  assert.equal(await store.use('points.award', award, { preview: true }), null)
  assert.deepEqual(await store.entriesOf(ADA), [])
  const keyed = { idempotency_key: 'once' }
  const given = await store.use('points.award', award, keyed)
  assert.equal(given.total_points, 7)
  assert.deepEqual(await store.use('points.award', award, keyed), given)
  const [entry, ...more] = await store.entriesOf(ADA)
  assert.deepEqual([entry?.points, entry?.awarded_by, more.length], [7, 'helper', 0])
  assert.deepEqual(await store.lines(), ['mcp store.points.awarded'])
  await assert.rejects(store.use('points.award', { ...award, points: -8 }), {
    code: 'points.insufficient',
  })

  const history = (await store.use('points.history', { identifier: ADA })) as {
    points: { event: string }[]
  }
  assert.deepEqual(
    history.points.map(({ event }) => event),
    ['Helped'],
  )
  const board = await store.use('points.leaderboard', { limit: 1 })
  assert.ok(!JSON.stringify(board).includes('@'), 'the list for everybody shows an agent no email')
  await checkBooks(store.db)
})

test('an agent sends the text of an attendance file; its preview counts, and awards nothing', async (t) => {
  const store = await setUp(t, 'points:write')
  const file_content = `Email,Checked-In Date\n${ADA},x\nbob@example.org,\nnobody,x\n`
  const file = { event_name: 'Kickoff', event_points: 5, file_content }
  assert.deepEqual(await store.use('points.import_csv', file, { preview: true }), {
    ...{ attended: 1, skipped: 1, errors_total: 1 },
    errors: [{ row: 4, reason: 'Email is no email address, such as name@example.org' }],
  })
  const { job_id } = await store.use('points.import_csv', file)
  const done = await until(async () => {
    const params = { org: 'org1', job_id: String(job_id) }
    const reply = await store.as(officer()).call(getImport, { params })
    return reply.status === 200 && reply.body.state !== 'queued' && reply.body
  }, 20_000)
  assert.deepEqual([done.state, done.awarded, done.created], ['done', 1, 1])
  const [entry] = await store.entriesOf(ADA)
  assert.deepEqual([entry?.kind, entry?.awarded_by], ['csv', 'helper'])
  await assert.rejects(
    store.use('points.import_csv', { ...file, file_content: 'Name\nx' }, { preview: true }),
    { code: 'import.columns' },
  )
})

test('reading is not writing, another org is out of reach, and a token by itself opens no route', async (t) => {
  const store = await setUp(t, 'points:read')
  await madeMember(store, ADA, 3)
  await madeMember(store, 'zoe@example.org', 3, 2)
  const award = { user_identifier: ADA, points: 7, event: 'Helped' }
  await assert.rejects(store.use('points.award', award), { code: 'tool.not_allowed' })
  await assert.rejects(store.use('points.import_csv'), { code: 'tool.not_allowed' })
  const off = { org: { ...org, modules: [] } }
  await assert.rejects(store.use('points.leaderboard', {}, off), { code: 'tool.not_allowed' })
  const foreign = { identifier: 'zoe@example.org', org: 'org2' }
  await assert.rejects(store.use('points.history', foreign), { code: 'member.not_found' })
  const caller = { kind: 'machine' as const, ...token, scopes: ['points:read'] }
  const reply = await store
    .as({ ...officer(), caller })
    .call(getUserPoints, { params: { ...at().params, identifier: ADA } })
  assert.equal(reply.status, 403)
})
