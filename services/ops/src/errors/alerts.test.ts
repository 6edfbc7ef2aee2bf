import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { findOrg } from '@guildhall/contracts/orgs'
import { findSecrets } from '@guildhall/contracts/secrets'
import { testSandbox } from '@guildhall/sandbox/testing'
import type { ChatWebhook } from '@guildhall/sandbox/world'
import { newId } from '@guildhall/service/id'
import { cleanUp, until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { testOps } from '../testing.ts'
import { ABOUT_ONE_ORG, MESSAGES_PER_HOUR } from './budget.ts'
import { countError, storeError } from './store.ts'
import { event } from './testing.ts'

const TOKEN = 'very-secret-token-of-the-webhook'
const hookOf = (id: string): ChatWebhook => ({ id, token: TOKEN, messages: [], asked: 0 })
const textsOf = ({ messages }: ChatWebhook) =>
  messages.map((one) => String((one as { content?: string }).content))

/** ops with a channel of its own, one of org 1 and one of org 3, which auth knows, as it does org 2 without one. */
async function setUp(t: TestContext) {
  const sandbox = await testSandbox(t)
  const [own, ofOrg, ofOther] = [hookOf('80001'), hookOf('80002'), hookOf('80003')]
  sandbox.world.webhooks = [own, ofOrg, ofOther]
  const urlOf = ({ id, token }: ChatWebhook) => `${sandbox.chatWebhooksUrl}/${id}/${token}`
  const clock = { ahead: 0 }
  const now = () => new Date(Date.now() + clock.ahead)
  const env = { ERROR_WEBHOOK_URL: urlOf(own), ALERTS_WEBHOOK_ORIGINS: sandbox.url }
  const ops = await testOps(t, { env, now })
  const secrets: Record<number, string> = { 1: urlOf(ofOrg), 3: urlOf(ofOther) }
  const auth = await busAs(t, { url: ops.settings.NATS_URL, peer: 'auth' })
  answer(auth, findSecrets('ops'), async ({ org_id }) => {
    const url = secrets[org_id]
    return { secrets: url === undefined ? {} : { error_webhook_url: url } }
  })
  answer(auth, findOrg, async (args) => {
    const id = 'id' in args ? args.id : 0
    const org = { id, prefix: `org${id}`, name: 'Org', modules: [], publisher: false }
    return { org: { ...org, chat_server_id: '12345', officer_role_id: null } } as never
  })
  await auth.nats.flush()
  const left = async () => (await ops.db.selectFrom('error_alerts').selectAll().execute()).length
  const store = (more: Parameters<typeof event>[0] = {}) => storeError(ops.db, event(more))
  const sent = () => until(async () => (await left()) === 0)
  return { ...ops, own, ofOrg, ofOther, secrets, clock, store, left, sent }
}

test('a new error is told once to its org and once to the deployment, however often it occurs', async (t) => {
  const { own, ofOrg, store, sent } = await setUp(t)
  await Promise.all(Array.from({ length: 10 }, () => store({ message: 'it `broke` @everyone' })))
  await sent()
  await store({ message: 'it `broke` @everyone' })
  await sent()
  for (const hook of [own, ofOrg]) {
    assert.equal(hook.messages.length, 1)
    const [text = ''] = textsOf(hook)
    assert.match(text, /^\*\*New error\*\* in auth \(org1\): `TypeError`/)
    assert.match(text, /it 'broke' @everyone/)
    assert.match(text, /services\/auth\/src\/orgs\/queries\.ts:12/)
    assert.deepEqual(hook.messages[0]?.allowed_mentions, { parse: [] })
  }
})

test('errors of the server, and of orgs without a webhook, go to the deployment alone', async (t) => {
  const { own, ofOrg, store, sent } = await setUp(t)
  await store({ org_id: null })
  await store({ org_id: 2 })
  await sent()
  assert.deepEqual([own.messages.length, ofOrg.messages.length], [2, 0])
})

test('an error that comes back after it was resolved is told again', async (t) => {
  const { db, own, ofOrg, store, sent } = await setUp(t)
  await store()
  await sent()
  const at = new Date('2031-02-01T00:00:00Z')
  await db.updateTable('error_groups').set({ resolved_at: at }).execute()
  await store({ created_at: '2031-02-02T00:00:00.000Z' })
  await sent()
  for (const hook of [own, ofOrg])
    assert.match(textsOf(hook)[1] ?? '', /^\*\*An error came back\*\*/)
})

test('the errors of one org leave room for those of others and of the server', async (t) => {
  const { db, own, ofOrg, store, clock, left, sent } = await setUp(t)
  const told = () => own.messages.length + ofOrg.messages.length
  for (let n = 0; n < 30; n++) await store({ kind: `K${'x'.repeat(n)}` })
  const heldOf = () =>
    db.selectFrom('error_alerts').select('target').where('held', '=', true).execute()
  await until(async () => (await heldOf()).length === 60 - ABOUT_ONE_ORG)
  assert.equal(told(), ABOUT_ONE_ORG)
  await store({ org_id: 2 })
  for (const kind of ['A', 'B', 'C']) await store({ org_id: null, kind })
  await until(() => told() === ABOUT_ONE_ORG + 4)
  await until(async () => (await left()) === 60 - ABOUT_ONE_ORG)
  clock.ahead += 3_600_000
  await sent()
  for (const hook of [own, ofOrg])
    assert.match(textsOf(hook).at(-1) ?? '', /^\*\*\d+ more errors\*\* of org1/)
})

test('a webhook that fails is asked once until it is due, and takes no room from the deployment', async (t) => {
  const { db, own, ofOrg, store, left, sent } = await setUp(t)
  const attempts = async () =>
    (await db.selectFrom('error_alerts').select('attempts').execute()).map((one) => one.attempts)
  const failed = (times: number) =>
    until(async () => (await attempts()).join() === Array(5).fill(times).join())
  ofOrg.fault = 'drops'
  await db.transaction().execute(async (trx) => {
    for (let n = 0; n < 5; n++) await countError(trx, event({ kind: `K${'x'.repeat(n)}` }))
  }) // all at once, so that none is tried before the others are there
  for (let times = 1; times <= 5; times++) {
    await failed(times)
    assert.equal(ofOrg.asked, times)
    await db.updateTable('error_alerts').set({ due_at: sql<Date>`now()` }).execute()
  }
  await sent() // the sixth time was the last
  assert.deepEqual([ofOrg.asked, own.messages.length], [6, 5])

  await store({ kind: 'Again' })
  await until(async () => (await attempts()).join() === '1')
  for (let n = 0; n < MESSAGES_PER_HOUR - 6; n++)
    await store({ org_id: null, kind: `S${'x'.repeat(n)}` })
  await until(async () => (await left()) === 1)
  assert.deepEqual([ofOrg.asked, own.messages.length], [7, MESSAGES_PER_HOUR])
})

test('a new error waits with the channel that failed', async (t) => {
  const { db, own, ofOrg, store, sent } = await setUp(t)
  ofOrg.fault = 'rate_limited'
  const rows = () => db.selectFrom('error_alerts').selectAll().execute()
  await store({ kind: 'First' })
  await until(async () => (await rows()).length === 1 && ofOrg.asked === 1)
  await store({ kind: 'Second' })
  await store({ kind: 'Server', org_id: null }) // the lane of the orgs has passed the second once this one is gone
  await until(async () => (await rows()).length === 2 && own.messages.length === 3)
  assert.equal(ofOrg.asked, 1)
  ofOrg.fault = undefined
  await db.updateTable('error_alerts').set({ due_at: sql<Date>`now()` }).execute()
  await sent()
  assert.equal(ofOrg.messages.length, 2)
})

test('a webhook of an org that hangs does not hold up the messages of the deployment', async (t) => {
  const { own, ofOrg, store } = await setUp(t)
  ofOrg.fault = 'hangs'
  await store()
  await until(() => ofOrg.asked === 1)
  const asked = Date.now()
  await store({ org_id: null })
  await until(() => own.messages.length === 2)
  assert.ok(Date.now() - asked < 8_000)
})

test('of more than an hour may have the rest is counted and told once there is room', async (t) => {
  const { db, own, store, clock, left } = await setUp(t)
  const errors = MESSAGES_PER_HOUR + 7
  for (let n = 0; n < errors; n++) await store({ org_id: null, kind: `K${'x'.repeat(n)}` })
  const held = () =>
    db.selectFrom('error_alerts').select('group_id').where('held', '=', true).execute()
  await until(async () => (await held()).length === 7)
  await until(async () => (await left()) === 7) // those of no org have no channel of an org
  assert.equal(own.messages.length, MESSAGES_PER_HOUR)
  clock.ahead += 3_400_000
  await store({ org_id: null, kind: 'Late' })
  await until(async () => (await held()).length === 8)
  clock.ahead += 260_000
  await until(async () => (await left()) === 0)
  assert.equal(own.messages.length, MESSAGES_PER_HOUR + 1)
  assert.match(textsOf(own).at(-1) ?? '', /^\*\*8 more errors\*\*/)
})

test("each org's channel is told how many of its own errors were held back, and of no other's", async (t) => {
  const { db, own, ofOrg, ofOther, sent } = await setUp(t)
  const seen = { first_seen: new Date(), last_seen: new Date() }
  const shown = {
    service: 'auth',
    kind: 'K',
    message: 'm',
    location: null,
    route: null,
    stack: null,
  }
  const groups = [1, 1, 3, 3, 3].map((org_id, n) => ({
    ...shown,
    ...seen,
    org_id,
    id: newId(),
    fingerprint: `${n}`,
  }))
  await db.transaction().execute(async (trx) => {
    await trx.insertInto('error_groups').values(groups).execute()
    const alerts = groups.flatMap(({ id: group_id }) =>
      (['deployment', 'org'] as const).map((target) => ({
        group_id,
        target,
        returned: false,
        held: true,
      })),
    )
    await trx.insertInto('error_alerts').values(alerts).execute()
  })
  await sent()
  const counts = (hook: typeof own) =>
    textsOf(hook)
      .map((text) => /^\*\*(\d+) more errors\*\*/.exec(text)?.[1])
      .sort()
  assert.deepEqual([own, ofOrg, ofOther].map(counts), [['2', '3'], ['2'], ['3']])
})

test('what the channel does not take now comes later, and what it never takes is dropped', async (t) => {
  const { db, own, ofOrg, store, left } = await setUp(t)
  own.fault = 'rate_limited'
  ofOrg.token = 'another'
  await store()
  const tried = await until(async () => {
    const rows = await db.selectFrom('error_alerts').selectAll().execute()
    return rows.length === 1 && rows[0]?.attempts === 1 && own.asked === 1 ? rows : undefined
  })
  assert.equal(tried[0]?.target, 'deployment')
  own.fault = undefined
  await until(async () => {
    // more than once: the failure may still be under way to its row
    await db.updateTable('error_alerts').set({ due_at: sql<Date>`now()` }).execute()
    return (await left()) === 0
  })
  assert.deepEqual([own.messages.length, ofOrg.messages.length], [1, 0])
  assert.ok(
    !JSON.stringify(await db.selectFrom('error_groups').selectAll().execute()).includes(TOKEN),
  )
})

test("an org's webhook leads to a named origin or to https on the public internet, and nowhere else", async (t) => {
  const { own, ofOrg, secrets, store, sent } = await setUp(t)
  const here = new URL(String(secrets[1]))
  secrets[1] = `http://localhost:${here.port}${here.pathname}`
  await store({ kind: 'Named' })
  await sent()
  assert.deepEqual([own.messages.length, ofOrg.asked], [1, 0])

  let connections = 0
  const inside = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  cleanUp(t, async () => inside.close())
  secrets[1] = `https://127.0.0.1:${(inside.address() as { port: number }).port}/hook`
  await store({ kind: 'Inside', org_id: 1 })
  await until(() => own.messages.length === 2)
  await store({ kind: 'After', org_id: null })
  await until(() => own.messages.length === 3)
  assert.equal(connections, 0)
})
