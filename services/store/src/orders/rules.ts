import type { OrderStatus } from '@guildhall/contracts/store-orders'
import { AppError } from '@guildhall/service/errors'

/** Where an order may go from where it is (decisions.md § 5). */
const NEXT: Record<OrderStatus, readonly OrderStatus[]> = {
  pending: ['processing', 'cancelled'],
  processing: ['shipped', 'cancelled'],
  shipped: ['delivered'],
  delivered: [],
  cancelled: [],
}

/** The goods have not left yet: what is given back goes to the stock too. */
export const isInHouse = (status: OrderStatus) => NEXT[status].includes('cancelled')

/** Throws 409 unless an order in `from` may go to `to`. */
export function checkMove(from: OrderStatus, to: OrderStatus): void {
  if (NEXT[from].includes(to)) return
  const ways = NEXT[from].join(' or ')
  throw new AppError(
    'conflict',
    'order.status',
    `An order that is ${from} cannot become ${to}; ${ways ? `it can become ${ways}` : 'it stays so'}`,
  )
}

export const orderNotFound = () =>
  new AppError('not_found', 'order.not_found', 'There is no such order; look at the list')

export const outOfStock = (name: string, left: number) =>
  new AppError(
    'conflict',
    'product.out_of_stock',
    left === 0 ? `${name} is sold out` : `Only ${left} of ${name} are left; order fewer`,
  )

export const insufficient = (total: number, balance: number) =>
  new AppError(
    'conflict',
    'points.insufficient',
    `This costs ${total} points and you have ${balance}`,
  )

export const priceMismatch = () =>
  new AppError(
    'conflict',
    'checkout.price_mismatch',
    'A price has changed; load the store again and look at the new prices',
  )
