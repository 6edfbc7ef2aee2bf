import { z } from 'zod'
import { member, officer, siteMember, siteMemberOrOfficer } from './caller.ts'
import { audited } from './event.ts'
import { Instant, OrgParams } from './fields.ts'
import { Email } from './points.ts'
import { route } from './route.ts'
import { PathId, SerialId } from './store-products.ts'

/** Orders, paid for with points (interface.md, Orders and Store routes; decisions.md § 5). */

export const OrderStatus = z.enum(['pending', 'processing', 'shipped', 'delivered', 'cancelled'])
export type OrderStatus = z.output<typeof OrderStatus>
const Message = z.string().max(1_000)

export const Order = z
  .object({
    id: z.int(),
    user_id: z.uuid(),
    user_name: z.string(),
    user_email: z.string().nullable(),
    total_amount: z.int(),
    status: OrderStatus,
    message: z.string().nullable(),
    items: z.array(
      z.object({
        product_id: z.int(),
        product_name: z.string(),
        quantity: z.int(),
        price_at_time: z.int(),
      }),
    ),
    created_at: Instant,
    updated_at: Instant,
  })
  .meta({ id: 'Order' })
export type Order = z.output<typeof Order>

/** Different products of one order, and pieces of one. */
const MOST_ITEMS = 50
const MOST_PIECES = 1_000

export const NewOrder = z.object({
  items: z
    .array(
      z.object({
        product_id: z.int().min(1).max(2_147_483_647),
        quantity: z.int().min(1).max(MOST_PIECES),
        price: z.int().optional().describe('Only compared with the catalog'),
      }),
    )
    .min(1, 'order at least one product')
    .max(MOST_ITEMS)
    .refine(
      (items) => new Set(items.map(({ product_id }) => product_id)).size === items.length,
      'name each product once, with its quantity',
    ),
  total_amount: z.int().optional().describe('Only compared with the catalog'),
  message: Message.optional(),
})
export type NewOrder = z.output<typeof NewOrder>

const Placed = z
  .object({ id: z.int(), order: Order, points_deducted: z.int(), balance: z.int() })
  .meta({ id: 'PlacedOrder' })
export type Placed = z.output<typeof Placed>

const store = { owner: 'store', module: 'storefront', params: OrgParams } as const
const OrderParams = OrgParams.extend({ id: PathId })
/** The number of an order, or the email of a member. */
const OrderKey = z
  .string()
  .refine(
    (text) => /^\d+$/.test(text) || Email.safeParse(text).success,
    'is neither the number of an order nor an email address, such as name@example.org',
  )
  .transform((text) => (/^\d+$/.test(text) ? PathId.parse(text) : Email.parse(text)))

/** These lists are plain arrays for existing clients; the next page is asked for by the last id. */
const OrdersQuery = z.object({
  limit: z.coerce.number<string>().int().min(1).max(500).default(100),
  before: SerialId.optional().describe('Only orders with a smaller id'),
})
export type OrdersQuery = z.output<typeof OrdersQuery>

export const checkout = route({
  method: 'POST',
  url: '/api/storefront/:org/checkout',
  summary: 'Buy products with points, from the store site',
  ...store,
  caller: siteMember,
  body: NewOrder,
  idempotent: true,
  rate: 'connect',
  reply: { 201: Placed },
})

export const placeMyOrder = route({
  method: 'POST',
  url: '/api/storefront/:org/members/orders',
  summary: 'Buy products with points',
  ...store,
  caller: member,
  body: NewOrder,
  idempotent: true,
  rate: 'connect',
  reply: { 201: Placed },
})

export const listMyOrders = route({
  method: 'GET',
  url: '/api/storefront/:org/members/orders',
  summary: "The member's own orders, the newest first",
  ...store,
  caller: member,
  query: OrdersQuery,
  reply: { 200: z.array(Order) },
})

export const cancelMyOrder = route({
  method: 'POST',
  url: '/api/storefront/:org/members/orders/:id/cancel',
  summary: 'Cancel an own order that is still pending; points and stock come back',
  ...store,
  params: OrderParams,
  caller: member,
  body: z.object({}),
  reply: { 200: Order },
})

export const listOrders = route({
  method: 'GET',
  url: '/api/storefront/:org/orders',
  summary: 'All orders of the org, the newest first',
  ...store,
  caller: officer,
  query: OrdersQuery.extend({ status: OrderStatus.optional() }),
  reply: { 200: z.array(Order) },
})

export const getOrder = route({
  method: 'GET',
  url: '/api/storefront/:org/orders/:id',
  summary: 'One order by its number, or the orders of a member by their email',
  ...store,
  params: OrgParams.extend({ id: OrderKey }),
  caller: siteMemberOrOfficer,
  query: OrdersQuery,
  reply: { 200: z.union([Order, z.array(Order)]) },
})

export const putOrder = route({
  method: 'PUT',
  url: '/api/storefront/:org/orders/:id',
  summary: 'Move an order on, or change its message; a cancelled one gives back points and stock',
  ...store,
  params: OrderParams,
  caller: officer,
  body: z
    .object({ status: OrderStatus, message: Message.nullable() })
    .partial()
    .refine((fields) => Object.keys(fields).length > 0, 'Send status, message or both'),
  reply: { 200: Order },
})

export const deleteOrder = route({
  method: 'DELETE',
  url: '/api/storefront/:org/orders/:id',
  summary: 'Remove an order; points come back only with refund',
  ...store,
  params: OrderParams,
  caller: officer,
  query: z.object({ refund: z.stringbool().default(false) }),
  reply: { 200: z.object({ deleted: z.literal(true), refunded: z.int().describe('Points') }) },
})

const OfOrder = z.object({ order_id: z.int() })
export const orderPlaced = audited('store.order.placed', OfOrder.extend({ total: z.int() }))
export const orderChanged = audited(
  'store.order.changed',
  OfOrder.extend({ status: OrderStatus, fields: z.array(z.string()) }),
)
export const orderDeleted = audited('store.order.deleted', OfOrder.extend({ refunded: z.int() }))
