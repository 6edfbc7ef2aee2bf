import { z } from 'zod'
import { anyone, member, officer } from './caller.ts'
import { audited } from './event.ts'
import { Instant, OrgParams } from './fields.ts'
import { route } from './route.ts'
import { Organization } from './store-members.ts'

/** What members can buy with points (interface.md, Store; decisions.md § 5). */

const MOST_PRICE = 1_000_000
const MOST_STOCK = 1_000_000
const MOST_ID = 2_147_483_647
/** Ids of products and orders. */
export const SerialId = z.coerce.number<string>().int().min(1).max(MOST_ID)
/** As SerialId, in a path: a number that none can have is 0, whose product or order is not found. */
export const PathId = z
  .string()
  .regex(/^\d+$/, 'is a number, such as 7')
  .transform((digits) => (Number(digits) <= MOST_ID ? Number(digits) : 0))

const Writable = z.object({
  name: z.string().trim().min(1).max(100),
  description: z.string().max(5_000),
  price: z.int().min(1).max(MOST_PRICE),
  stock: z.int().min(0).max(MOST_STOCK),
  image_url: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
    .max(2_000)
    .nullable(),
  category: z.string().trim().min(1).max(100).nullable(),
})

export const Product = Writable.extend({
  id: z.int(),
  image_url: z.string().nullable(),
  created_at: Instant,
  updated_at: Instant,
}).meta({ id: 'Product' })
export type Product = z.output<typeof Product>

export const NewProduct = Writable.extend({
  description: Writable.shape.description.default(''),
  stock: z.int().min(1, 'a new product needs a stock of 1 or more').max(MOST_STOCK),
  image_url: Writable.shape.image_url.default(null),
  category: Writable.shape.category.default(null),
})
export type NewProduct = z.output<typeof NewProduct>
export const ProductPatch = Writable.partial().refine(
  (fields) => Object.keys(fields).length > 0,
  'Send at least one field',
)
export type ProductPatch = z.output<typeof ProductPatch>

const store = { owner: 'store', module: 'storefront', params: OrgParams } as const
const ProductParams = OrgParams.extend({ id: PathId })
const Catalog = z.object({ organization: Organization, products: z.array(Product) })

export const listProducts = route({
  method: 'GET',
  url: '/api/storefront/:org/products',
  summary: 'All products, sold out ones too',
  ...store,
  caller: anyone,
  reply: { 200: z.array(Product) },
})

export const getProduct = route({
  method: 'GET',
  url: '/api/storefront/:org/products/:id',
  summary: 'One product',
  ...store,
  params: ProductParams,
  caller: anyone,
  reply: { 200: Product },
})

export const getStore = route({
  method: 'GET',
  url: '/api/storefront/:org/store',
  summary: 'The org and its products in stock',
  ...store,
  caller: anyone,
  reply: { 200: Catalog },
})

export const getMemberStore = route({
  method: 'GET',
  url: '/api/storefront/:org/members/store',
  summary: 'The org and its products in stock, for a member of its server',
  ...store,
  caller: member,
  reply: { 200: Catalog },
})

export const createProduct = route({
  method: 'POST',
  url: '/api/storefront/:org/products',
  summary: 'Add a product',
  ...store,
  caller: officer,
  body: NewProduct,
  reply: { 201: Product },
})

export const putProduct = route({
  method: 'PUT',
  url: '/api/storefront/:org/products/:id',
  summary: 'Change a product; fields not named stay, and so do prices of orders',
  ...store,
  params: ProductParams,
  caller: officer,
  body: ProductPatch,
  reply: { 200: Product },
})

export const deleteProduct = route({
  method: 'DELETE',
  url: '/api/storefront/:org/products/:id',
  summary: 'Remove a product; orders of it stay as they are',
  ...store,
  params: ProductParams,
  caller: officer,
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

const OfProduct = z.object({ product_id: z.int() })
export const productCreated = audited('store.product.created', OfProduct)
export const productChanged = audited(
  'store.product.changed',
  OfProduct.extend({ fields: z.array(z.string()) }),
)
export const productDeleted = audited('store.product.deleted', OfProduct)
