import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import { type OrderStatus, orderChanged, orderDeleted } from '@guildhall/contracts/store-orders'
import type { OrderRow, Trx } from '../db.ts'
import { giveBackStock } from '../products/queries.ts'
import { lockOrder } from './queries.ts'
import { checkMove, isInHouse, orderNotFound } from './rules.ts'

interface By {
  org: { id: number }
  caller: Caller
  now: Date
}

export interface Change {
  status?: OrderStatus | undefined
  message?: string | null | undefined
}

/**
 * Moves an order on; one that is cancelled gives back points and stock in the same transaction. What is so
 * already is not written again: an officer may send the same twice.
 */
export async function changeOrder(trx: Trx, id: number, { status, message }: Change, by: By) {
  const order = await lockOrder(trx, by.org.id, id)
  if (!order) throw orderNotFound()
  const to = status ?? order.status
  const fields = []
  if (to !== order.status) fields.push('status')
  if (message !== undefined && message !== order.message) fields.push('message')
  if (fields.length === 0) return
  if (to !== order.status) checkMove(order.status, to)
  if (to === 'cancelled' && order.status !== to) await refund(trx, order, by.now)
  await trx
    .updateTable('orders')
    .set({ status: to, ...(message !== undefined && { message }), updated_at: by.now })
    .where('id', '=', id)
    .execute()
  await enqueue(trx, audit(orderChanged, by.caller, by.org, { order_id: id, status: to, fields }))
}

/** Removes an order, and answers the points that went back: none without `refund`, none twice. */
export async function removeOrder(trx: Trx, id: number, wantsRefund: boolean, by: By) {
  const order = await lockOrder(trx, by.org.id, id)
  if (!order) throw orderNotFound()
  const refunded = wantsRefund ? await refund(trx, order, by.now) : 0
  await trx.updateTable('orders').set({ deleted: true }).where('id', '=', id).execute()
  await enqueue(trx, audit(orderDeleted, by.caller, by.org, { order_id: id, refunded }))
  return refunded
}

/** Gives the points of a locked order back, once, and to the stock what has not left yet. */
async function refund(trx: Trx, order: OrderRow, now: Date): Promise<number> {
  const { id, org_id, membership, total_amount, status } = order
  const row = { org_id, membership, points: total_amount, event: `Order ${id}`, order_id: id }
  const booked = await trx
    .insertInto('ledger')
    .values({
      ...{ ...row, kind: 'refund', awarded_by: null, created_at: now },
      source_key: `refund:${id}`,
    })
    .onConflict((on) => on.constraint('ledger_once').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!booked) return 0
  if (isInHouse(status)) await giveBackStock(trx, id)
  return total_amount
}
