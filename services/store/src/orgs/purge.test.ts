import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { startJob } from '@guildhall/contracts/ops'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { importEventCsv } from '@guildhall/contracts/point-imports'
import { getWallet } from '@guildhall/contracts/store-members'
import { checkout } from '@guildhall/contracts/store-orders'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { at, award, CHAT, madeMember, madeProduct, site, testStore } from '../testing.ts'
import { checkBooks } from '../testing-books.ts'

test('a purge deletes all of one org and nothing of another, and may be repeated', async (t) => {
  const store = await testStore(t)
  for (const org of [1, 2]) {
    await madeMember(store, 'ada@example.org', 50, org)
    await madeMember(store, `only${org}@example.org`, 5, org)
    const { id } = await madeProduct(store, { org })
    const body = { items: [{ product_id: id, quantity: 1 }] }
    const placed = await store.as(site('ada@example.org', org)).call(checkout, { ...at(org), body })
    assert.equal(placed.status, 201)
  }
  for (let n = 0; n < 2; n++) await ask(store.auth, purgeOrgOf('store'), { org_id: 1 })
  for (const table of ['memberships', 'products', 'orders', 'ledger'] as const) {
    const rows = await store.db.selectFrom(table).select('org_id').execute()
    assert.ok(rows.length > 0 && rows.every(({ org_id }) => org_id === 2), table)
  }
  const people = await store.db.selectFrom('people').select('id').execute()
  assert.equal(people.length, 2)
  await checkBooks(store.db)
})

test('a purge of one org leaves two accounts that are linked one person in the others', async (t) => {
  const store = await testStore(t)
  await store.link(CHAT, 'ada@example.org')
  await award(store, CHAT, 5)
  await ask(store.auth, purgeOrgOf('store'), { org_id: 1 })
  await award(store, CHAT, 30, 2)
  const params = { org: 'org2', email: 'ada@example.org' }
  const wallet = await store.as(site(params.email, 2)).call(getWallet, { params })
  assert.ok(wallet.status === 200)
  assert.equal(wallet.body.total_points, 30)
})

test('a purge leaves nobody’s name in kept answers, nor a file that an operator sent along', async (t) => {
  const store = await testStore(t)
  const bus = await busAs(t, { url: store.settings.NATS_URL, peer: 'operator' })
  for (const org of [1, 2]) {
    await madeMember(store, 'ada@example.org', 50, org)
    const { id } = await madeProduct(store, { org })
    const buyer = store.as(site('ada@example.org', org), { 'idempotency-key': `key-${org}` })
    const body = { items: [{ product_id: id, quantity: 1 }] }
    assert.equal((await buyer.call(checkout, { ...at(org), body })).status, 201)
  }
  const file_content = 'Email,Checked-In Date\neve@example.org,2026-10-01'
  for (const org_prefix of ['org1', 'org2']) {
    const args = { org_prefix, event_name: 'Talk', event_points: '5', file_content }
    await ask(bus, startJob('store'), { id: newId(), job: importEventCsv.name, args })
  }
  const runs = () =>
    store.db
      .selectFrom('job_runs as r')
      .innerJoin('imports as i', 'i.id', 'r.id')
      .select(['i.org_id', 'r.state', 'args', 'r.result'])
      .orderBy('i.org_id')
      .execute()
  const [, kept] = await until(async () => {
    const found = await runs()
    return found.length === 2 && found.every(({ state }) => state === 'done') && found
  })
  assert.ok(kept?.result)
  const first = store.db.selectFrom('imports').select('id').where('org_id', '=', 1)
  const { id } = await first.executeTakeFirstOrThrow()
  await ask(store.auth, purgeOrgOf('store'), { org_id: 1 })
  assert.deepEqual(await runs(), [kept])
  const purged = store.db.selectFrom('job_runs').select(['args', 'result']).where('id', '=', id)
  assert.deepEqual(await purged.execute(), [{ args: {}, result: null }])
  const keys = await store.db.selectFrom('idempotency_keys').select('key').execute()
  assert.deepEqual(keys, [{ key: 'key-2' }])
})
