import { createHash } from 'node:crypto'
import { ErrorEvent } from '@guildhall/contracts/event'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** Counts an event once in its group, however often it is delivered. */
export async function storeError(db: Db, sent: unknown) {
  const event = ErrorEvent.parse(sent)
  const location = firstFrameOfOurs(event.stack)
  const seen = new Date(event.created_at)
  const { service, org_id, kind, message, route, stack } = event
  await db.transaction().execute(async (trx) => {
    const first = await trx
      .insertInto('error_events_seen')
      .values({ id: event.id })
      .onConflict((on) => on.doNothing())
      .returning('id')
      .executeTakeFirst()
    if (!first) return
    const group = {
      id: newId(),
      fingerprint: fingerprintOf(event, location),
      service,
      org_id,
      kind,
      message,
      location,
      route,
      stack,
    }
    await trx
      .insertInto('error_groups')
      .values({ ...group, first_seen: seen, last_seen: seen })
      .onConflict((on) =>
        on.column('fingerprint').doUpdateSet({
          count: sql`error_groups.count + 1`,
          first_seen: sql`least(error_groups.first_seen, excluded.first_seen)`,
          last_seen: sql`greatest(error_groups.last_seen, excluded.last_seen)`,
          stack,
          route,
          message,
        }),
      )
      .execute()
  })
}

/** What makes two events the same error: everything that does not vary from one occurrence to the next. */
export function fingerprintOf(
  { service, org_id, kind, message }: ErrorEvent,
  location: string | null,
): string {
  const lasting = message.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/gi, '<id>').replace(/\d+/g, '<n>')
  return createHash('sha256')
    .update(JSON.stringify([service, org_id, kind, location, lasting]))
    .digest('base64url')
}

/** `services/auth/src/app.ts:12`: the first line of a stack that is not a library's or Node's. */
export function firstFrameOfOurs(stack: string | null): string | null {
  for (const line of stack?.split('\n') ?? []) {
    const frame = /((?:services|libs|gateway|scripts)\/[^\s)]+?\.ts:\d+)/.exec(line)?.[1]
    if (frame && !line.includes('node_modules')) return frame
  }
  return null
}
