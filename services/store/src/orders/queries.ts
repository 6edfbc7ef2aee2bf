import type { Order, OrderStatus, OrdersQuery } from '@guildhall/contracts/store-orders'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { Db, Trx } from '../db.ts'
import { lockMember } from '../members/queries.ts'
import { shownName } from '../members/rules.ts'

/** Orders of an org that nobody removed, the newest first. */
export const selectOrders = (db: Db, orgId: number) =>
  db
    .selectFrom('orders as o')
    .innerJoin('memberships as m', 'm.id', 'o.membership')
    .innerJoin('people as p', 'p.id', 'm.person')
    .select(['o.id', 'o.total_amount', 'o.status', 'o.message', 'o.created_at', 'o.updated_at'])
    .select(['m.id as user_id', 'm.name as user_name'])
    .select((from) => from.fn.coalesce('m.email', 'p.email').as('user_email'))
    .select((from) =>
      jsonArrayFrom(
        from
          .selectFrom('order_items as i')
          .whereRef('i.order_id', '=', 'o.id')
          .orderBy('i.product_id')
          .select(['i.product_id', 'i.product_name', 'i.quantity', 'i.price_at_time']),
      ).as('items'),
    )
    .where('o.org_id', '=', orgId)
    .where('o.deleted', '=', false)
    .orderBy('o.id', 'desc')

type Shown = Awaited<ReturnType<ReturnType<typeof selectOrders>['execute']>>[0]

export const shownOrder = ({ created_at, updated_at, ...order }: Shown): Order => ({
  ...order,
  user_name: shownName(order.user_name),
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
})

export async function orderById(db: Db, orgId: number, id: number): Promise<Order | undefined> {
  const row = await selectOrders(db, orgId).where('o.id', '=', id).executeTakeFirst()
  return row && shownOrder(row)
}

interface Filters extends OrdersQuery {
  status?: OrderStatus | undefined
  membership?: string
}

export async function ordersOf(
  db: Db,
  orgId: number,
  { limit, before, status, membership }: Filters,
): Promise<Order[]> {
  let query = selectOrders(db, orgId).limit(limit)
  if (membership !== undefined) query = query.where('o.membership', '=', membership)
  if (status !== undefined) query = query.where('o.status', '=', status)
  if (before !== undefined) query = query.where('o.id', '<', before)
  return (await query.execute()).map(shownOrder)
}

/** The order, and nobody else moves it or its member's points until the transaction ends. */
export async function lockOrder(trx: Trx, orgId: number, id: number) {
  await lockMember(() =>
    trx
      .selectFrom('orders as o')
      .innerJoin('memberships as m', 'm.id', 'o.membership')
      .select('m.id')
      .where('o.id', '=', id)
      .where('o.org_id', '=', orgId),
  )
  return trx
    .selectFrom('orders')
    .selectAll()
    .where('id', '=', id)
    .where('org_id', '=', orgId)
    .where('deleted', '=', false)
    .forNoKeyUpdate()
    .executeTakeFirst()
}
