import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schemaOf } from '@guildhall/bus/testing'
import { newId } from '@guildhall/service/id'
import { migrations, type Tables } from '../db.ts'
import { sectionsOf, trendsOf } from './dashboard.ts'

const NOW = new Date('2031-05-10T12:00:00Z')
const EARLIER = new Date('2031-03-01T00:00:00Z')

test('members, points, products and orders are those of the org alone', async (t) => {
  const db = await schemaOf<Tables>(t, 'store', migrations)
  const memberOf = async (org_id: number, created_at: Date) => {
    const [id, person] = [newId(), newId()]
    await db
      .insertInto('people')
      .values({ id: person, email: `${person}@example.org`, chat_user_id: null, created_at })
      .execute()
    const none = { email: null, username: null, student_id: null, class_standing: null }
    const row = { id, org_id, person, name: 'x', ...none, major: null }
    await db
      .insertInto('memberships')
      .values({ ...row, profile_fields: '{}', created_at, updated_at: created_at })
      .execute()
    return { org_id, membership: id }
  }
  type Member = Awaited<ReturnType<typeof memberOf>>
  const book = (who: Member, points: number, at: string, kind: 'award' | 'adjust' = 'award') => {
    const none = { awarded_by: null, source_key: null, order_id: null }
    const row = { ...who, ...none, points, kind, event: 'x', created_at: new Date(at) }
    return db.insertInto('ledger').values(row).execute()
  }
  const productOf = (org_id: number, stock: number, retired = false) => {
    const times = { created_at: NOW, updated_at: NOW }
    const row = { org_id, name: 'x', description: '', price: 1, image_url: null, category: null }
    return db
      .insertInto('products')
      .values({ ...row, ...times, stock, retired })
      .execute()
  }
  const order = (who: Member, at: string, status: 'pending' | 'cancelled', deleted = false) => {
    const created_at = new Date(at)
    const row = { ...who, total_amount: 1, status, message: null, deleted }
    return db
      .insertInto('orders')
      .values({ ...row, created_at, updated_at: NOW })
      .execute()
  }
  for (const org_id of [1, 2, 2]) {
    const who = await memberOf(org_id, NOW)
    await memberOf(org_id, EARLIER)
    await book(who, 100, EARLIER.toISOString())
    await book(who, 10, '2031-05-09T00:00:00Z')
    await book(who, 5, '2031-05-10T00:00:00Z')
    await book(who, -3, '2031-05-10T00:00:00Z', 'adjust')
    await productOf(org_id, 0)
    await productOf(org_id, 2)
    await productOf(org_id, 0, true)
    await order(who, EARLIER.toISOString(), 'pending')
    await order(who, '2031-05-09T23:59:59Z', 'pending')
    await order(who, '2031-05-10T00:00:00Z', 'cancelled')
    await order(who, '2031-05-10T00:00:00Z', 'pending', true)
  }
  const bySince = <T extends { date: string }>(days: T[]) =>
    days.toSorted((a, b) => a.date.localeCompare(b.date))
  for (const org of [1, 2]) {
    assert.deepEqual(await sectionsOf(db, org, NOW), {
      members: { total: 2 * org, joined_recently: org },
      points: { balances: 112 * org, awarded_recently: 15 * org },
      storefront: {
        ...{ products: 2 * org, sold_out: org, orders_open: 2 * org },
        orders_recently: 2 * org,
      },
    })
    const { points, orders } = await trendsOf(db, org, '2031-05-09T00:00:00Z')
    assert.deepEqual(bySince(points), [
      { date: '2031-05-09', value: 10 * org, failed: 0 },
      { date: '2031-05-10', value: 5 * org, failed: 0 },
    ])
    assert.deepEqual(bySince(orders), [
      { date: '2031-05-09', value: org, failed: 0 },
      { date: '2031-05-10', value: org, failed: org },
    ])
  }
})
