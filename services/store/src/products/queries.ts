import type { NewProduct, Product, ProductPatch } from '@guildhall/contracts/store-products'
import { AppError } from '@guildhall/service/errors'
import { sql } from 'kysely'
import type { Db, ProductRow, Trx } from '../db.ts'

const selectProducts = (db: Db, orgId: number) =>
  db
    .selectFrom('products')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('retired', '=', false)
    .orderBy('id')

export const productsOf = (db: Db, orgId: number) => selectProducts(db, orgId).execute()

export const inStock = (db: Db, orgId: number) =>
  selectProducts(db, orgId).where('stock', '>', 0).execute()

export const productById = (db: Db, orgId: number, id: number) =>
  selectProducts(db, orgId).where('id', '=', id).executeTakeFirst()

/** Those of the ids that are on sale, by id; nobody else sells, changes or removes them until the transaction ends. */
export const lockProducts = (trx: Trx, orgId: number, ids: readonly number[]) =>
  selectProducts(trx, orgId).where('id', 'in', ids).forNoKeyUpdate().execute()

export const insertProduct = (trx: Trx, orgId: number, product: NewProduct, now: Date) =>
  trx
    .insertInto('products')
    .values({ ...product, org_id: orgId, created_at: now, updated_at: now })
    .returningAll()
    .executeTakeFirstOrThrow()

export const updateProduct = (
  trx: Trx,
  { org_id, id, now }: { org_id: number; id: number; now: Date },
  patch: ProductPatch,
) => {
  const sent = Object.entries(patch).filter(([, value]) => value !== undefined)
  return trx
    .updateTable('products')
    .set({ ...Object.fromEntries(sent), updated_at: now })
    .where('org_id', '=', org_id)
    .where('id', '=', id)
    .where('retired', '=', false)
    .returningAll()
    .executeTakeFirst()
}

interface Item {
  product_id: number
  quantity: number
}

/** Takes items out of the stock (-1), or gives them back (1). Under the locks of their products. */
export async function moveStock(trx: Trx, items: readonly Item[], way: 1 | -1) {
  const moved = JSON.stringify(items.map((item) => ({ ...item, by: way * item.quantity })))
  await sql`
    update products set stock = stock + moved.by
    from json_to_recordset(${moved}::json) as moved (product_id integer, by integer)
    where products.id = moved.product_id
  `.execute(trx)
}

/** Gives the items of an order back to the stock; also of products that are not on sale any more. */
export async function giveBackStock(trx: Trx, orderId: number) {
  const items = await trx
    .selectFrom('order_items')
    .select(['product_id', 'quantity'])
    .where('order_id', '=', orderId)
    .execute()
  const ids = items.map(({ product_id }) => product_id)
  await trx
    .selectFrom('products')
    .select('id')
    .where('id', 'in', ids)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  await moveStock(trx, items, 1)
}

/** Deletes a product, or retires it where orders name it; false where there is none. */
export async function removeProduct(trx: Trx, orgId: number, id: number): Promise<boolean> {
  // nobody orders it from here on, so that the next statement sees all orders of it
  const locked = await selectProducts(trx, orgId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (!locked) return false
  const ordered = await trx
    .selectFrom('order_items')
    .select('order_id')
    .where('product_id', '=', id)
    .executeTakeFirst()
  if (ordered)
    await trx.updateTable('products').set({ retired: true }).where('id', '=', id).execute()
  else await trx.deleteFrom('products').where('id', '=', id).execute()
  return true
}

export function shownProduct({ org_id, retired, ...product }: ProductRow): Product {
  return {
    ...product,
    created_at: product.created_at.toISOString(),
    updated_at: product.updated_at.toISOString(),
  }
}

export const productNotFound = () =>
  new AppError('not_found', 'product.not_found', 'The store has no such product; look at the list')
