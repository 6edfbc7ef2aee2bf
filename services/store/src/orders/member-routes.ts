import { cancelMyOrder, listMyOrders, placeMyOrder } from '@guildhall/contracts/store-orders'
import { transact } from '@guildhall/db/transact'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { ownMembership, provedBy } from '../people/own.ts'
import { changeOrder } from './change.ts'
import { buy } from './checkout.ts'
import { lockOrder, orderById, ordersOf } from './queries.ts'
import { orderNotFound } from './rules.ts'

/** A member's own orders, in their chat session. */
export function memberOrderRoutes(app: App, deps: Deps) {
  const { db, now } = deps

  app.implement(placeMyOrder, async (input, reply) =>
    reply.code(201).send(await buy(deps, { ...input, route: placeMyOrder })),
  )

  app.implement(listMyOrders, async ({ org, query, caller }) => {
    const member = await ownMembership(db, org.id, await provedBy(deps, caller))
    return member ? ordersOf(db, org.id, { ...query, membership: member.id }) : []
  })

  app.implement(cancelMyOrder, async ({ org, params: { id }, caller }) => {
    const proved = await provedBy(deps, caller)
    await transact(db, async (trx) => {
      const order = await lockOrder(trx, org.id, id)
      const member = await ownMembership(trx, org.id, proved)
      if (!order || order.membership !== member?.id) throw orderNotFound()
      if (order.status !== 'pending') throw notPending(order.status)
      await changeOrder(trx, id, { status: 'cancelled' }, { org, caller, now: now() })
    })
    const order = await orderById(db, org.id, id)
    if (!order) throw orderNotFound()
    return order
  })
}

const notPending = (status: string) =>
  new AppError(
    'conflict',
    'order.status',
    `The order is ${status}, and only a pending one can be cancelled; ask an officer`,
  )
