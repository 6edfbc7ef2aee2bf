import type { PodAccess } from '@guildhall/contracts/compute'
import { AppError } from '@guildhall/service/errors'
import type { Db, LivePod, PodRow, SessionRow, Trx } from '../db.ts'

/** Up to `limit` pods of an org that were made before the row `before`, the newest first. */
export async function podsOfOrg(
  db: Db,
  orgId: number,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<LivePod[]> {
  let query = livePods(db).where('org_id', '=', orgId).orderBy('id', 'desc').limit(limit)
  if (before !== undefined) query = query.where('id', '<', before)
  return (await query.execute()) as LivePod[]
}

/** The pods that a member may connect to, the newest first. */
export async function podsOfMember(db: Db, orgId: number, chatUserId: string): Promise<LivePod[]> {
  const rows = await livePods(db)
    .where('org_id', '=', orgId)
    .where((where) =>
      where.or([
        where('is_public', '=', true),
        where(where.val(chatUserId), '=', where.fn.any('allowed_users')),
      ]),
    )
    .orderBy('id', 'desc')
    .execute()
  return rows as LivePod[]
}

const livePods = (db: Db) => db.selectFrom('pods').selectAll().where('state', '=', 'live')

/** Throws 404 where the org has no such pod, which is also what another org's looks like. */
export async function podById(db: Db, orgId: number, podId: string): Promise<LivePod> {
  const row = await livePods(db)
    .where('org_id', '=', orgId)
    .where('pod_id', '=', podId)
    .executeTakeFirst()
  if (!row) throw noPod(podId)
  return row as LivePod
}

export const noPod = (podId: string) =>
  new AppError('not_found', 'pod.not_found', `There is no pod ${podId}`)

/** Locks the pod's row: what is asked of it and planned for it is counted by one at a time. Throws 404 where it is gone. */
export async function lockPod(trx: Trx, { id, pod_id }: LivePod): Promise<void> {
  const pod = await trx
    .selectFrom('pods')
    .select('id')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (!pod) throw noPod(pod_id)
}

export function podByRecord(db: Db, id: string): Promise<PodRow | undefined> {
  return db.selectFrom('pods').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The sessions of these pods that are not over, by the pod's row. */
export async function openSessions(db: Db, pods: PodRow[]): Promise<Map<string, SessionRow[]>> {
  if (pods.length === 0) return new Map()
  const ids = pods.map(({ id }) => id)
  const rows = await db
    .selectFrom('sessions')
    .selectAll()
    .where('pod', 'in', ids)
    .where('finished', '=', false)
    .where('removed', '=', false)
    .orderBy('start_at')
    .orderBy('id')
    .execute()
  return Map.groupBy(rows, ({ pod }) => pod)
}

type Intent = Pick<
  PodRow,
  'id' | 'org_id' | 'name' | 'is_public' | 'allowed_users' | 'machine' | 'created_by' | 'created_at'
>

/** Writes down that the host is about to be asked for a pod. */
export async function insertIntent(trx: Trx, { machine, ...intent }: Intent) {
  await trx
    .insertInto('pods')
    .values({
      ...intent,
      machine: JSON.stringify(machine),
      state: 'creating',
      pod_id: null,
      host_key: null,
      host_key_start: null,
      schedule_lease: null,
      schedule_lease_until: null,
    })
    .execute()
}

/** The intent has its pod: true for the first who says so. */
export async function markLive(trx: Trx, id: string, pod_id: string): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('pods')
    .set({ state: 'live', pod_id })
    .where('id', '=', id)
    .where('state', '=', 'creating')
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Deletes a pod's row with its sessions; true for the first who does. */
export async function deletePod(trx: Trx, id: string): Promise<boolean> {
  const { numDeletedRows } = await trx.deleteFrom('pods').where('id', '=', id).executeTakeFirst()
  return numDeletedRows === 1n
}

/** Throws 404 where the pod has gone meanwhile. */
export async function setAccess(trx: Trx, pod: LivePod, access: PodAccess): Promise<LivePod> {
  const { is_public = pod.is_public, allowed_users = pod.allowed_users } = access
  const row = await trx
    .updateTable('pods')
    .set({
      ...(access.is_public !== undefined && { is_public }),
      ...(access.allowed_users !== undefined && { allowed_users }),
    })
    .where('id', '=', pod.id)
    .returningAll()
    .executeTakeFirst()
  if (!row) throw noPod(pod.pod_id)
  return row as LivePod
}
