import type { OrgRef, Route } from '@guildhall/contracts/route'
import type { Log } from '@guildhall/service/log'

interface Denied {
  decision: 'deny' | 'would_deny'
  reason: 'member_login_unverified' | 'checkout_price_mismatch' | 'member_details_hidden'
  route: Pick<Route, 'method' | 'url'>
  org: OrgRef
}

/** Writes the line of an access check (interface.md, Access checks). */
export function noteDenied(log: Pick<Log, 'info'>, { decision, reason, route, org }: Denied) {
  const where = `route=${route.method} ${route.url} org=${org.prefix}`
  log.info({ reason }, `access decision=${decision} reason=${reason} ${where} credential=-`)
}
