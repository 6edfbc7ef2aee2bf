import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { checkout } from '@guildhall/contracts/store-orders'
import { at, madeMember, madeProduct, site, testStore } from '../testing.ts'
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
