import { oncePerKey } from '@guildhall/bus/idempotency'
import type { Caller } from '@guildhall/contracts/caller'
import type { OrgRef, Route } from '@guildhall/contracts/route'
import type { NewOrder, Placed } from '@guildhall/contracts/store-orders'
import type { Deps } from '../deps.ts'
import { provedBy } from '../people/own.ts'
import { noteDenied } from '../site/note-denied.ts'
import { type Line, placeOrder, totalOf } from './place.ts'
import { priceMismatch } from './rules.ts'

interface Asked {
  route: Route
  org: OrgRef
  caller: Extract<Caller, { kind: 'member' | 'identity' | 'platform' }>
  body: NewOrder
  idempotency_key: string | undefined
  params: unknown
  query: unknown
}

/** Checkout and the order of a chat session: one operation, done once per Idempotency-Key. */
export async function buy(deps: Deps, asked: Asked): Promise<Placed> {
  const { org, caller, body: wanted } = asked
  const proved = await provedBy(deps, caller)
  const checkPrices = (lines: readonly Line[]) => comparePrices(deps, asked, lines)
  const buying = { org, caller, proved, wanted, checkPrices, now: deps.now() }
  return deps.db
    .transaction()
    .execute((trx) => oncePerKey(trx, asked, () => placeOrder(trx, buying)))
}

/** Prices are the catalog's: those that were sent are only compared (decisions.md § 5). */
function comparePrices(
  { config, log }: Pick<Deps, 'config' | 'log'>,
  { route, org, body, caller }: Asked,
  lines: readonly Line[],
) {
  const other = lines.some(({ price, product }) => price !== undefined && price !== product.price)
  if (!other && (body.total_amount ?? totalOf(lines)) === totalOf(lines)) return
  const decision = config.ACCESS_ENFORCE ? 'deny' : 'would_deny'
  noteDenied(log, { decision, reason: 'checkout_price_mismatch', route, org, caller })
  if (config.ACCESS_ENFORCE) throw priceMismatch()
}
