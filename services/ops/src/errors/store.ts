import { ErrorEvent } from '@guildhall/contracts/event'
import { newId } from '@guildhall/service/id'
import type { Log } from '@guildhall/service/log'
import { sql } from 'kysely'
import type { Db, Trx } from '../db.ts'
import { fingerprintOf, firstFrameOfOurs, firstFrameOfPage } from './rules.ts'

/** Takes an event of a process; one that is delivered twice counts once. */
export async function takeError({ db, log }: { db: Db; log: Log }, sent: unknown) {
  const event = ErrorEvent.parse(sent)
  const { service, dropped_before: dropped } = event
  if (dropped > 0) log.warn({ service, dropped }, 'Error events were dropped: too many waited')
  await storeError(db, event)
}

/** Counts an event once in its group, and asks for the messages where the group is new or was resolved before it. */
export const storeError = (db: Db, event: ErrorEvent) =>
  db.transaction().execute((trx) => countError(trx, event))

/** The same within a transaction. */
export async function countError(trx: Trx, event: ErrorEvent) {
  const first = await trx
    .insertInto('error_events_seen')
    .values({ id: event.id })
    .onConflict((on) => on.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!first) return
  const group = await upsertGroup(trx, event)
  if (group.opened_by !== event.id) return
  const alert = { group_id: group.id, returned: group.count > 1 }
  await trx
    .insertInto('error_alerts')
    .values((['deployment', 'org'] as const).map((target) => ({ ...alert, target })))
    .onConflict((on) => on.doNothing()) // the message before is not sent yet
    .execute()
}

/** An event of before the group was resolved, which came late, leaves it resolved. */
const REOPENS = sql<boolean>`error_groups.resolved_at < excluded.last_seen`

function upsertGroup(trx: Trx, event: ErrorEvent) {
  const { service, org_id, kind, message, route, stack } = event
  const location = firstFrameOfOurs(stack) ?? firstFrameOfPage(stack)
  const seen = new Date(event.created_at)
  const group = { id: newId(), fingerprint: fingerprintOf(event, location), service, org_id, kind }
  return trx
    .insertInto('error_groups')
    .values({
      ...{ ...group, message, location, route, stack },
      ...{ first_seen: seen, last_seen: seen, opened_by: event.id },
    })
    .onConflict((on) =>
      on.column('fingerprint').doUpdateSet({
        count: sql`error_groups.count + 1`,
        first_seen: sql`least(error_groups.first_seen, excluded.first_seen)`,
        last_seen: sql`greatest(error_groups.last_seen, excluded.last_seen)`,
        opened_by: sql`case when ${REOPENS} then excluded.opened_by else error_groups.opened_by end`,
        resolved_by: sql`case when ${REOPENS} then null else error_groups.resolved_by end`,
        resolved_at: sql`case when ${REOPENS} then null else error_groups.resolved_at end`,
        stack,
        route,
        message,
      }),
    )
    .returning(['id', 'count', 'opened_by'])
    .executeTakeFirstOrThrow()
}
