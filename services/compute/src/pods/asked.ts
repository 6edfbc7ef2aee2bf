import type { audit } from '@guildhall/bus/outbox'
import type { PodAction } from '@guildhall/contracts/compute'
import { actorOf } from '@guildhall/contracts/event'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { Selectable } from 'kysely'
import type { Actor, Db, LivePod, Tables, Trx } from '../db.ts'
import { lockPod } from './queries.ts'

/** The caller of a request, or an actor of another kind. */
export type By = Parameters<typeof audit>[1]
export type Asked = Pick<
  Selectable<Tables['pod_actions']>,
  'id' | 'action' | 'asked_by' | 'asked_at'
>

/**
 * Writes down what is asked of a pod, before the pod host is told: `compute.reconcile` sees to what a dead
 * process left. What was asked before and is not done yet is not done any more. Throws 404 for a pod that is
 * gone, and 409 for one that is to be terminated.
 */
export async function noteAction(
  trx: Trx,
  pod: LivePod,
  { action, by, now }: { action: PodAction; by: By; now: Date },
): Promise<Asked> {
  await lockPod(trx, pod)
  await refuseTerminating(trx, pod, action)
  await supersede(trx, pod)
  const asked_by: Actor = 'source' in by ? by : { source: 'http', ...actorOf(by) }
  const asked = { id: newId(now.getTime()), action, asked_at: now }
  await trx
    .insertInto('pod_actions')
    .values({ ...asked, pod: pod.id, asked_by: JSON.stringify(asked_by) })
    .execute()
  return { ...asked, asked_by }
}

/** What was asked of a pod and is not done yet is not done any more, unless it is to be terminated. */
export async function supersede(db: Db | Trx, { id }: LivePod) {
  await db
    .updateTable('pod_actions')
    .set({ superseded: true })
    .where('pod', '=', id)
    .where('action', '!=', 'terminate')
    .execute()
}

async function refuseTerminating(trx: Trx, { id, name }: LivePod, action: PodAction) {
  if (action === 'terminate') return
  const found = await trx
    .selectFrom('pod_actions')
    .select('id')
    .where('pod', '=', id)
    .where('action', '=', 'terminate')
    .executeTakeFirst()
  if (!found) return
  throw new AppError(
    'conflict',
    'pod.terminating',
    `${name} is about to be terminated; wait a minute until it is gone, and make another pod`,
  )
}

/** What was asked is done, or will not be; true for the first who says so. */
export async function forgetAction(db: Db | Trx, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('pod_actions')
    .where('id', '=', id)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** What was asked before `before` and is not known to be done, with its pods, in the order it was asked. */
export async function unsettledActions(db: Db, before: Date) {
  const rows = await db
    .selectFrom('pod_actions')
    .innerJoin('pods', 'pods.id', 'pod_actions.pod')
    .selectAll('pods')
    .select(['pod_actions.id as asked_id', 'action', 'asked_by', 'asked_at', 'superseded'])
    .where('asked_at', '<', before)
    .orderBy('pod_actions.id')
    .execute()
  return rows.map(({ asked_id, action, asked_by, asked_at, superseded, ...pod }) => ({
    pod: pod as LivePod,
    asked: { id: asked_id, action, asked_by, asked_at },
    superseded,
  }))
}
