import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import {
  type NewOrder,
  type Order,
  orderPlaced,
  type Placed,
} from '@guildhall/contracts/store-orders'
import type { OrderRow, ProductRow, Trx } from '../db.ts'
import { lockOwn } from '../people/own.ts'
import type { Proved } from '../people/people.ts'
import { book } from '../points/queries.ts'
import { productNotFound, productsByIds } from '../products/queries.ts'
import { insufficient, outOfStock } from './rules.ts'
import { takeFromStock } from './stock.ts'

export interface Buying {
  org: { id: number }
  caller: Caller
  proved: Proved
  wanted: NewOrder
  /** Throws where other prices were sent than the catalog has, and that is refused. */
  checkPrices: (lines: readonly Line[]) => void
  now: Date
}

export interface Line {
  product: ProductRow
  quantity: number
  /** What the client believes that a piece costs. */
  price: number | undefined
}

/**
 * Sells: order, points and stock in one transaction. The balance is locked first and the products last, by id,
 * because many want the same product: any number at once neither deadlock nor sell what is not there.
 */
export async function placeOrder(trx: Trx, buying: Buying): Promise<Placed> {
  const { org, caller, proved, wanted, now } = buying
  const member = await lockOwn(trx, org.id, proved)
  const lines = await linesOf(trx, org.id, wanted)
  buying.checkPrices(lines)
  for (const { product, quantity } of lines)
    if (product.stock < quantity) throw outOfStock(product.name, product.stock)
  const total = totalOf(lines)
  if (!member || member.balance < total) throw insufficient(total, member?.balance ?? 0)

  const items = lines.map(({ product, quantity }) => ({
    product_id: product.id,
    product_name: product.name,
    quantity,
    price_at_time: product.price,
  }))
  const message = wanted.message ?? null
  const row = { org_id: org.id, membership: member.id, total_amount: total, message }
  const id = await write(trx, row, items, now)
  await enqueue(trx, audit(orderPlaced, caller, org, { order_id: id, total }))
  await takeFromStock(trx, org.id, items)
  const balance = member.balance - total
  const at = { created_at: now.toISOString(), updated_at: now.toISOString() }
  const user = { user_id: member.id, user_name: member.name, user_email: member.email }
  const order = { id, ...user, total_amount: total, status: 'pending' as const, message, items }
  return { id, order: { ...order, ...at }, points_deducted: total, balance }
}

type NewRow = Pick<OrderRow, 'org_id' | 'membership' | 'total_amount' | 'message'>

/** Writes the order, its items and what it costs. */
async function write(trx: Trx, order: NewRow, items: Order['items'], now: Date) {
  const { id } = await trx
    .insertInto('orders')
    .values({ ...order, status: 'pending', created_at: now, updated_at: now })
    .returning('id')
    .executeTakeFirstOrThrow()
  await trx
    .insertInto('order_items')
    .values(items.map((item) => ({ ...item, order_id: id })))
    .execute()
  const { org_id, membership, total_amount } = order
  await book(trx, {
    ...{ org_id, membership, points: -total_amount, event: `Order ${id}`, awarded_by: null },
    ...{ kind: 'purchase', source_key: `purchase:${id}`, order_id: id, created_at: now },
  })
  return id
}

async function linesOf(trx: Trx, orgId: number, { items }: NewOrder): Promise<Line[]> {
  const products = await productsByIds(
    trx,
    orgId,
    items.map(({ product_id }) => product_id),
  )
  if (products.length < items.length) throw productNotFound()
  return products.flatMap((product) =>
    items
      .filter(({ product_id }) => product_id === product.id)
      .map(({ quantity, price }) => ({ product, quantity, price })),
  )
}

export const totalOf = (lines: readonly Line[]) =>
  lines.reduce((sum, { product, quantity }) => sum + product.price * quantity, 0)
