import type { NewSession } from '@guildhall/contracts/pod-sessions'
import { newId } from '@guildhall/service/id'
import type { Db, SessionRow, Trx } from '../db.ts'

/** Up to `limit` sessions of a pod that were planned before `before`, the newest first. */
export function sessionsOfPod(
  db: Db,
  pod: string,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<SessionRow[]> {
  let query = db
    .selectFrom('sessions')
    .selectAll()
    .where('pod', '=', pod)
    .where('removed', '=', false)
    .orderBy('id', 'desc')
    .limit(limit)
  if (before !== undefined) query = query.where('id', '<', before)
  return query.execute()
}

/** One session of a pod, as long as it is listed. */
export function sessionById(db: Db, pod: string, id: string): Promise<SessionRow | undefined> {
  return db
    .selectFrom('sessions')
    .selectAll()
    .where('pod', '=', pod)
    .where('id', '=', id)
    .where('removed', '=', false)
    .executeTakeFirst()
}

/** How many sessions of a pod are not over; right under the pod's lock alone. */
export async function countUnfinished(trx: Trx, id: string): Promise<number> {
  const { count } = await trx
    .selectFrom('sessions')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('pod', '=', id)
    .where('finished', '=', false)
    .where('removed', '=', false)
    .executeTakeFirstOrThrow()
  return count
}

export function insertSession(
  trx: Trx,
  pod: string,
  session: NewSession & { created_by: string; created_at: Date },
): Promise<SessionRow> {
  const { start_at, stop_at, title, created_by, created_at } = session
  const times = { start_at: new Date(start_at), stop_at: new Date(stop_at), created_at }
  return trx
    .insertInto('sessions')
    .values({ id: newId(created_at.getTime()), pod, title, created_by, ...times })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/**
 * Removes a session; true for the first who does. One for which the pod was started stays, unseen, until
 * the schedule has stopped the pod.
 */
export async function removeSession(trx: Trx, pod: string, id: string): Promise<boolean> {
  const hidden = await trx
    .updateTable('sessions')
    .set({ removed: true })
    .where('id', '=', id)
    .where('pod', '=', pod)
    .where('removed', '=', false)
    .where('finished', '=', false)
    .where('started_pod', '=', true)
    .executeTakeFirst()
  if (hidden.numUpdatedRows === 1n) return true
  const { numDeletedRows } = await trx
    .deleteFrom('sessions')
    .where('id', '=', id)
    .where('pod', '=', pod)
    .where('removed', '=', false)
    .executeTakeFirst()
  return numDeletedRows === 1n
}
