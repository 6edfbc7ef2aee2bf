import type { AccessReason } from '@guildhall/contracts/auth'
import type { Route } from '@guildhall/contracts/route'
import type { Log } from '@guildhall/service/log'

/**
 * Writes the line of a sign-in that is refused in every mode (interface.md, Access checks). An org is
 * meant at the sign-in of a CLI alone; `chatUserId` is known once the chat platform has told it.
 */
export function noteDenied(
  log: Pick<Log, 'warn'>,
  reason: AccessReason | 'not_member',
  { method, url }: Pick<Route, 'method' | 'url'>,
  chatUserId?: string,
  org?: { prefix: string },
) {
  const credential = chatUserId === undefined ? 'none' : `chat:${chatUserId}`
  const where = `route=${method} ${url} org=${org?.prefix ?? '-'} credential=${credential}`
  log.warn({ reason }, `access decision=deny reason=${reason} ${where}`)
}
