import { audit, enqueue } from '@guildhall/bus/outbox'
import type { OrgRef } from '@guildhall/contracts/route'
import {
  createProduct,
  deleteProduct,
  getMemberStore,
  getProduct,
  getStore,
  listProducts,
  productChanged,
  productCreated,
  productDeleted,
  putProduct,
} from '@guildhall/contracts/store-products'
import { transact } from '@guildhall/db/transact'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import {
  inStock,
  insertProduct,
  productById,
  productNotFound,
  productsOf,
  removeProduct,
  shownProduct,
  updateProduct,
} from './queries.ts'

export function productRoutes(app: App, { db, now }: Deps) {
  app.implement(listProducts, async ({ org }) => (await productsOf(db, org.id)).map(shownProduct))
  app.implement(getStore, ({ org }) => catalog(org))
  app.implement(getMemberStore, ({ org }) => catalog(org))

  app.implement(getProduct, async ({ org, params }) => {
    const product = await productById(db, org.id, params.id)
    if (!product) throw productNotFound()
    return shownProduct(product)
  })

  app.implement(createProduct, async ({ org, body, caller }, reply) => {
    const made = await transact(db, async (trx) => {
      const product = await insertProduct(trx, org.id, body, now())
      await enqueue(trx, audit(productCreated, caller, org, { product_id: product.id }))
      return product
    })
    return reply.code(201).send(shownProduct(made))
  })

  app.implement(putProduct, async ({ org, params, body, caller }) => {
    const changed = await transact(db, async (trx) => {
      const product = await updateProduct(trx, { org_id: org.id, id: params.id, now: now() }, body)
      if (!product) throw productNotFound()
      const said = { product_id: product.id, fields: Object.keys(body) }
      await enqueue(trx, audit(productChanged, caller, org, said))
      return product
    })
    return shownProduct(changed)
  })

  app.implement(deleteProduct, async ({ org, params, caller }) => {
    await transact(db, async (trx) => {
      if (!(await removeProduct(trx, org.id, params.id))) throw productNotFound()
      await enqueue(trx, audit(productDeleted, caller, org, { product_id: params.id }))
    })
    return { deleted: true as const }
  })

  async function catalog({ id, name, prefix }: OrgRef) {
    const products = (await inStock(db, id)).map(shownProduct)
    return { organization: { id, name, prefix }, products }
  }
}
