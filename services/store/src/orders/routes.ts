import type { Caller } from '@guildhall/contracts/caller'
import type { OrgRef } from '@guildhall/contracts/route'
import {
  checkout,
  deleteOrder,
  getOrder,
  listOrders,
  type OrdersQuery,
  putOrder,
} from '@guildhall/contracts/store-orders'
import { transact } from '@guildhall/db/transact'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { memberBy } from '../members/queries.ts'
import { ownMembership, provedBy } from '../people/own.ts'
import { changeOrder, removeOrder } from './change.ts'
import { buy } from './checkout.ts'
import { orderById, ordersOf } from './queries.ts'
import { orderNotFound } from './rules.ts'

/** Orders as officers and the store site see them. */
export function orderRoutes(app: App, deps: Deps) {
  const { db, now } = deps

  app.implement(checkout, async (input, reply) =>
    reply.code(201).send(await buy(deps, { ...input, route: checkout })),
  )

  app.implement(listOrders, ({ org, query }) => ordersOf(db, org.id, query))

  app.implement(getOrder, async ({ org, params: { id }, query, caller }) => {
    const asking = { org, caller, query }
    return typeof id === 'string' ? ordersByEmail(id, asking) : oneOrder(id, asking)
  })

  app.implement(putOrder, async ({ org, params: { id }, body, caller }) => {
    const by = { org, caller, now: now() }
    await transact(db, (trx) => changeOrder(trx, id, body, by))
    const order = await orderById(db, org.id, id)
    if (!order) throw orderNotFound()
    return order
  })

  app.implement(deleteOrder, async ({ org, params: { id }, query, caller }) => {
    const by = { org, caller, now: now() }
    const refunded = await transact(db, (trx) => removeOrder(trx, id, query.refund, by))
    return { deleted: true as const, refunded }
  })

  async function ordersByEmail(email: string, { org, caller, query }: Asking) {
    const member =
      caller.kind === 'officer'
        ? await memberBy(db, org.id, email)
        : await ownBy(email, { org, caller })
    return member ? ordersOf(db, org.id, { ...query, membership: member.id }) : []
  }

  async function ownBy(email: string, { org, caller }: Omit<Asking, 'query'>) {
    return ownMembership(db, org.id, await provedBy(deps, caller, email))
  }

  /** For a member, only their own. */
  async function oneOrder(id: number, { org, caller }: Asking) {
    const order = await orderById(db, org.id, id)
    if (order && caller.kind === 'officer') return order
    const own = order && (await ownMembership(db, org.id, await provedBy(deps, caller)))
    if (!own || order.user_id !== own.id) throw orderNotFound()
    return order
  }
}

interface Asking {
  org: OrgRef
  caller: Extract<Caller, { kind: 'identity' | 'officer' }>
  query: OrdersQuery
}
