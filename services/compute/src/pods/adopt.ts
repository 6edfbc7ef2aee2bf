import { audit, enqueue } from '@guildhall/bus/outbox'
import { podCreated } from '@guildhall/contracts/compute'
import type { HostPod } from '../clients/podhost-shapes.ts'
import type { PodRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { markLive, podByRecord } from './queries.ts'
import { RECORD_ENV } from './rules.ts'

/** The pod on the host that was made for this record, by its environment alone. */
export const podOfRecord = (pods: HostPod[], record: string) =>
  pods.find(({ env }) => env?.[RECORD_ENV] === record)

/**
 * Makes a pod that the host has the one of its record. May be repeated. A pod whose record is gone, or has
 * another pod, is deleted on the host: nobody would see what it costs.
 */
export async function adopt(
  deps: Deps,
  { id, org_id, name }: Pick<PodRow, 'id' | 'org_id' | 'name'>,
  pod: HostPod,
  by: Parameters<typeof audit>[1],
): Promise<void> {
  const { db, podhost, live, log } = deps
  const adopted = await db.transaction().execute(async (trx) => {
    if (!(await markLive(trx, id, pod.id))) return false
    await enqueue(trx, audit(podCreated, by, { id: org_id }, { pod_id: pod.id, name }))
    return true
  })
  live.forget(org_id)
  if (adopted || (await podByRecord(db, id))?.pod_id === pod.id) return
  log.warn({ pod_id: pod.id, record: id }, 'A pod of ours has no record any more; it is deleted')
  await podhost.remove(org_id, pod.id)
}
