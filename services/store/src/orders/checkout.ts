import { oncePerKey } from '@guildhall/bus/idempotency'
import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import type { OrgRef, Route } from '@guildhall/contracts/route'
import {
  type NewOrder,
  type Order,
  orderPlaced,
  type Placed,
} from '@guildhall/contracts/store-orders'
import { transact } from '@guildhall/db/transact'
import type { OrderRow, ProductRow, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { emailOfMember } from '../members/queries.ts'
import { shownName } from '../members/rules.ts'
import { lockOwn, provedBy } from '../people/own.ts'
import type { Proved } from '../people/people.ts'
import { book } from '../points/queries.ts'
import { lockProducts, moveStock, productNotFound } from '../products/queries.ts'
import { noteDenied } from '../site/note-denied.ts'
import { insufficient, outOfStock, priceMismatch } from './rules.ts'

interface Asked {
  route: Route
  org: OrgRef
  caller: Extract<Caller, { kind: 'member' | 'identity' | 'platform' }>
  body: NewOrder
  idempotency_key: string | undefined
  params: unknown
  query: unknown
}

/** Checkout and the order of a chat session: one operation, done once per Idempotency-Key. */
export async function buy(deps: Deps, asked: Asked): Promise<Placed> {
  const proved = await provedBy(deps, asked.caller)
  return transact(deps.db, (trx) =>
    oncePerKey(trx, asked, () => placeOrder(trx, deps, { asked, proved })),
  )
}

interface Line {
  product: ProductRow
  quantity: number
  /** What the client believes that a piece costs. */
  price: number | undefined
}

/**
 * Sells: order, points and stock in one transaction. The balance is locked first, then the products by id, and
 * all is checked on what was locked: any number at once neither deadlock nor sell what is not there.
 */
async function placeOrder(
  trx: Trx,
  deps: Deps,
  { asked, proved }: { asked: Asked; proved: Proved },
): Promise<Placed> {
  const { org, caller, body } = asked
  const now = deps.now()
  const member = await lockOwn(trx, org.id, proved)
  const lines = await lockLines(trx, org.id, body)
  comparePrices(deps, asked, lines)
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
  const message = body.message ?? null
  const row = { org_id: org.id, membership: member.id, total_amount: total, message }
  const id = await write(trx, row, items, now)
  await moveStock(trx, items, -1)
  await enqueue(trx, audit(orderPlaced, caller, org, { order_id: id, total }))
  const balance = member.balance - total
  const at = { created_at: now.toISOString(), updated_at: now.toISOString() }
  const user = {
    user_id: member.id,
    user_name: shownName(member.name),
    user_email: emailOfMember(member),
  }
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

async function lockLines(trx: Trx, orgId: number, { items }: NewOrder): Promise<Line[]> {
  const wanted = new Map(items.map(({ product_id, ...item }) => [product_id, item]))
  const products = await lockProducts(trx, orgId, [...wanted.keys()])
  const lines = products.flatMap((product) => {
    const item = wanted.get(product.id)
    return item ? [{ product, quantity: item.quantity, price: item.price }] : []
  })
  if (lines.length < items.length) throw productNotFound()
  return lines
}

const totalOf = (lines: readonly Line[]) =>
  lines.reduce((sum, { product, quantity }) => sum + product.price * quantity, 0)

/** Prices are the catalog's: those that were sent are only compared (decisions.md § 5). */
function comparePrices(
  { config, log }: Pick<Deps, 'config' | 'log'>,
  { route, org, body, caller }: Asked,
  lines: readonly Line[],
) {
  const other = lines.some(({ price, product }) => price !== undefined && price !== product.price)
  if (!other && (body.total_amount ?? totalOf(lines)) === totalOf(lines)) return
  const decision = config.ACCESS_ENFORCE ? 'deny' : 'would_deny'
  noteDenied(log, { decision, reason: 'checkout_price_mismatch', route, org, caller })
  if (config.ACCESS_ENFORCE) throw priceMismatch()
}
