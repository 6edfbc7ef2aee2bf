import type { Caller } from '@guildhall/contracts/caller'
import type { OrgRef, Route } from '@guildhall/contracts/route'
import type { Log } from '@guildhall/service/log'

interface Denied {
  decision: 'deny' | 'would_deny'
  reason: 'member_login_unverified' | 'checkout_price_mismatch' | 'member_details_hidden'
  route: Pick<Route, 'method' | 'url'>
  org: OrgRef
  caller: Asked
}
type Asked = Extract<Caller, { kind: 'platform' | 'identity' | 'member' }>

/** Writes the line of an access check (interface.md, Access checks). */
export function noteDenied(
  log: Pick<Log, 'warn'>,
  { decision, reason, route, org, caller }: Denied,
) {
  const where = `route=${route.method} ${route.url} org=${org.prefix}`
  const credential = credentialOf(caller)
  log.warn(
    { reason },
    `access decision=${decision} reason=${reason} ${where} credential=${credential}`,
  )
}

/** Who asked, by an id that is no personal data: never by the email. */
function credentialOf(caller: Asked): string {
  if (caller.kind === 'identity') return `identity:${caller.subject}`
  return `${caller.kind === 'member' ? 'chat' : 'platform'}:${caller.chat_user_id}`
}
