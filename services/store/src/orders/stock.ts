import { sql } from 'kysely'
import type { Trx } from '../db.ts'

interface Item {
  product_id: number
  quantity: number
}

/** Lowers the stock of locked products. Throws a violation of `products_stock` below zero. */
export const takeFromStock = (trx: Trx, items: readonly Item[]) => move(trx, items, -1)

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
