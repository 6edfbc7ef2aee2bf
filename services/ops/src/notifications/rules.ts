import { createHash } from 'node:crypto'
import type { Notification, Problem } from '@guildhall/contracts/notifications'

/** The same kind, key and message have the same id; when it was seen makes no difference. */
export const idOf = ({ kind, key, message }: Problem) =>
  createHash('sha256')
    .update(JSON.stringify([kind, key, message]))
    .digest('base64url')

interface Resolved {
  id: string
  resolved_at: Date
  resolved_by: string
}

/** Problems with what officers have seen to, the latest first. */
export function notificationsFrom(
  problems: readonly Problem[],
  resolved: readonly Resolved[],
): Notification[] {
  const seen = new Map(resolved.map((one) => [one.id, one]))
  const all = problems.map((problem) => {
    const id = idOf(problem)
    const { resolved_at = null, resolved_by = null } = seen.get(id) ?? {}
    return { id, ...problem, resolved_at: resolved_at?.toISOString() ?? null, resolved_by }
  })
  return all.toSorted((a, b) => (b.at ?? '').localeCompare(a.at ?? ''))
}
