import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { busAs } from '@guildhall/bus/testing'
import type { Caller } from '@guildhall/contracts/caller'
import type { AuditEvent } from '@guildhall/contracts/event'
import { listAudit, listOrgAudit } from '@guildhall/contracts/ops'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { testOps } from '../testing.ts'
import { storeAudit } from './store.ts'

const person = { chat_user_id: '12345', username: 'ada', token_id: 't', expires_at: 0 }
const officer: Caller = { kind: 'officer', superadmin: false, ...person }
const superadmin: Caller = { kind: 'superadmin', ...person }
const chess = { id: 1, prefix: 'chess', name: 'Chess', modules: [], publisher: false }
const START = Date.UTC(2031, 0, 1)

/** The `n`th line: a minute after the one before. */
function line(n: number, more: Partial<AuditEvent> = {}): AuditEvent {
  const at = START + n * 60_000
  return {
    id: newId(at),
    created_at: new Date(at).toISOString(),
    source: 'http',
    action: 'auth.org.created',
    org_id: 1,
    actor_kind: 'officer',
    actor_id: '12345',
    status: null,
    details: { n },
    ...more,
  }
}

async function setUp(t: TestContext, lines: AuditEvent[]) {
  const ops = await testOps(t)
  for (const one of lines) await storeAudit(ops.db, one)
  const asOfficer = ops.as({ caller: officer, org: chess })
  const asSuperadmin = ops.as({ caller: superadmin })
  type Query = { limit?: string; cursor?: string; actor?: string; action?: string; since?: string }
  const ofOrg = async (query: Query = {}) => {
    const reply = await asOfficer.call(listOrgAudit, { params: { org_id: '1' }, query })
    assert.equal(reply.status, 200)
    return reply.body
  }
  const ofAll = async (query: Query = {}) => {
    const reply = await asSuperadmin.call(listAudit, { query })
    assert.equal(reply.status, 200)
    return reply.body
  }
  return { ...ops, asOfficer, asSuperadmin, ofOrg, ofAll }
}
const numbers = ({ entries }: { entries: { details: Record<string, unknown> }[] }) =>
  entries.map(({ details }) => details.n)

test('an event that is delivered twice is stored once, as it was sent', async (t) => {
  const { settings, db, ofAll } = await setUp(t, [])
  const auth = await busAs(t, { url: settings.NATS_URL, peer: 'auth' })
  const [first, second] = [line(1), line(2)]
  for (const sent of [first, first, second]) {
    await auth.js.publish('audit.auth', JSON.stringify(sent), { msgID: newId() })
  }
  await until(async () => (await ofAll()).entries.length === 2)
  const consumers = await busAs(t, { url: settings.NATS_URL, peer: 'ops' })
  await until(
    async () => (await consumers.jsm.consumers.info('AUDIT', 'ops-audit')).num_ack_pending === 0,
  )
  const shown = ({ org_id: org, ...rest }: AuditEvent) => ({ ...rest, org })
  assert.deepEqual((await ofAll()).entries, [shown(second), shown(first)])
  assert.equal((await db.selectFrom('audit_entries').select('id').execute()).length, 2)
})

test('an event that nobody can read is dropped, and the next one is stored', async (t) => {
  const { settings, ofAll } = await setUp(t, [])
  const auth = await busAs(t, { url: settings.NATS_URL, peer: 'auth' })
  const unstorable = line(1, { action: 'auth.\0' })
  for (const sent of ['no json', '{}', JSON.stringify(unstorable), JSON.stringify(line(2))]) {
    await auth.js.publish('audit.auth', sent)
  }
  await until(async () => (await ofAll()).entries.length === 1)
  assert.deepEqual(numbers(await ofAll()), [2])
})

test('an org never sees the line of another, or of none', async (t) => {
  const lines = [line(1), line(2, { org_id: 2 }), line(3, { org_id: null }), line(4)]
  const { asOfficer, ofOrg, ofAll } = await setUp(t, lines)
  assert.deepEqual(numbers(await ofOrg()), [4, 1])
  assert.deepEqual(
    numbers(await ofOrg({ actor: '12345', action: 'auth', since: '2031-01-01T00:00:00Z' })),
    [4, 1],
  )
  assert.deepEqual(numbers(await ofAll()), [4, 3, 2, 1])
  const forAll = await asOfficer.call(listAudit, { query: {} })
  assert.equal(forAll.status, 403)
})

test('lines are found by actor, by action or its beginning, and by time', async (t) => {
  const { asSuperadmin, ofOrg } = await setUp(t, [
    line(1, { action: 'auth.org.created' }),
    line(2, { action: 'auth.org.settings_changed', actor_id: '77777' }),
    line(3, { action: 'auth_x.org%.created' }),
    line(4, {
      action: 'knowledge.source.written',
      actor_id: null,
      actor_kind: 'job',
      source: 'job',
    }),
  ])
  assert.deepEqual(numbers(await ofOrg({ actor: '77777' })), [2])
  assert.deepEqual(numbers(await ofOrg({ action: 'auth.org.created' })), [1])
  assert.deepEqual(numbers(await ofOrg({ action: 'auth.' })), [2, 1])
  assert.deepEqual(numbers(await ofOrg({ action: 'auth%' })), [])
  assert.deepEqual(numbers(await ofOrg({ since: '2031-01-01T00:03:00Z' })), [4, 3])
  assert.deepEqual(numbers(await ofOrg({ since: '2031-01-01T02:03:00+02:00' })), [4, 3])
  assert.deepEqual(numbers(await ofOrg({ actor: '12345', action: 'auth.' })), [1])
  const zoneless = await asSuperadmin.call(listAudit, { query: { since: '2031-01-01T00:03:00' } })
  assert.equal(zoneless.status, 400)
})

test('pages go through every line once, the newest first, while new ones come', async (t) => {
  const { db, ofOrg } = await setUp(
    t,
    Array.from({ length: 7 }, (_, n) => line(n)),
  )
  const seen: unknown[] = []
  let cursor: string | undefined
  do {
    const page = await ofOrg({ limit: '3', ...(cursor && { cursor }) })
    seen.push(...numbers(page))
    cursor = page.next_cursor ?? undefined
    await storeAudit(db, line(100 + seen.length))
  } while (cursor)
  assert.deepEqual(seen, [6, 5, 4, 3, 2, 1, 0])
})

test('a cursor counts for its own list and filters, and a made-up one for none', async (t) => {
  const { asOfficer, asSuperadmin, ofOrg } = await setUp(t, [line(1), line(2), line(3)])
  const cursor = String((await ofOrg({ limit: '1', action: 'auth.' })).next_cursor)
  assert.deepEqual(numbers(await ofOrg({ limit: '1', action: 'auth.', cursor })), [2])
  const [, marker] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as string[]
  const madeUp = Buffer.from(JSON.stringify(['no id', marker])).toString('base64url')
  const params = { org_id: '1' }
  for (const reply of [
    await asOfficer.call(listOrgAudit, { params, query: { cursor } }),
    await asOfficer.call(listOrgAudit, { params, query: { cursor, action: 'auth' } }),
    await asSuperadmin.call(listAudit, { query: { cursor, action: 'auth.' } }),
    await asOfficer.call(listOrgAudit, { params, query: { cursor: madeUp, action: 'auth.' } }),
  ]) {
    assert.deepEqual(
      [reply.status, 'code' in reply.body && reply.body.code],
      [400, 'cursor.invalid'],
    )
  }
})
