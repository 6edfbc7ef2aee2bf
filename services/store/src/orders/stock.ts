import { sql } from 'kysely'
import type { Trx } from '../db.ts'
import { lockProducts, productNotFound } from '../products/queries.ts'
import { outOfStock, priceMismatch } from './rules.ts'

interface Item {
  product_id: number
  quantity: number
}
interface Sold extends Item {
  price_at_time: number
}

/** Lowers the stock. Throws 409 where it is out, or where a price has just changed, and 404 for what is not sold any more. */
export async function takeFromStock(trx: Trx, orgId: number, items: readonly Sold[]) {
  const ids = items.map(({ product_id }) => product_id)
  const products = await lockProducts(trx, orgId, ids)
  for (const { product_id, quantity, price_at_time } of items) {
    const product = products.find(({ id }) => id === product_id)
    if (!product) throw productNotFound()
    if (product.price !== price_at_time) throw priceMismatch()
    if (product.stock < quantity) throw outOfStock(product.name, product.stock)
  }
  await move(trx, items, -1)
}

/** Gives the items of an order back to the stock; also of products that are not on sale any more. */
export async function giveBackStock(trx: Trx, orderId: number) {
  const items = await trx
    .selectFrom('order_items')
    .select(['product_id', 'quantity'])
    .where('order_id', '=', orderId)
    .execute()
  await trx
    .selectFrom('products')
    .select('id')
    .where(
      'id',
      'in',
      items.map(({ product_id }) => product_id),
    )
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  await move(trx, items, 1)
}

async function move(trx: Trx, items: readonly Item[], way: 1 | -1) {
  const moved = JSON.stringify(items.map((item) => ({ ...item, by: way * item.quantity })))
  await sql`
    update products set stock = stock + moved.by
    from json_to_recordset(${moved}::json) as moved (product_id integer, by integer)
    where products.id = moved.product_id
  `.execute(trx)
}
