import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  type PodAction,
  type PodStatus,
  podRestarted,
  podStarted,
  podStopped,
  podTerminated,
} from '@guildhall/contracts/compute'
import { AppError } from '@guildhall/service/errors'
import type { HostAction } from '../clients/podhost.ts'
import type { LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'
import { deletePod } from './queries.ts'

type By = Parameters<typeof audit>[1]

/** What is written of each action. */
const DONE = { start: podStarted, stop: podStopped, restart: podRestarted } as const

/** Does what an officer asks, and answers the pod's state as the host tells it afterwards. */
export function act(deps: Deps, pod: LivePod, action: PodAction, by: By): Promise<PodStatus> {
  return action === 'terminate' ? terminate(deps, pod, by) : move(deps, pod, action, by)
}

/** Starts, stops or restarts a pod. A start is the beginning of another pin of its host key. */
export async function move(deps: Deps, pod: LivePod, action: HostAction, by: By) {
  const { db, podhost, live, hostKeys } = deps
  const moved = await podhost.act(pod.org_id, pod.pod_id, action)
  live.forget()
  if (!moved) throw gone(pod)
  await db.transaction().execute(async (trx) => {
    if (action !== 'stop') await hostKeys.unpin(trx, pod)
    await enqueue(trx, audit(DONE[action], by, { id: pod.org_id }, { pod_id: pod.pod_id }))
  })
  return moved.status
}

/** First the pod on the host, then its record: until both are gone it may be repeated. */
async function terminate({ db, podhost, live }: Deps, pod: LivePod, by: By) {
  await podhost.remove(pod.org_id, pod.pod_id)
  live.forget()
  await db.transaction().execute(async (trx) => {
    if (!(await deletePod(trx, pod.id))) return
    await enqueue(trx, audit(podTerminated, by, { id: pod.org_id }, { pod_id: pod.pod_id }))
  })
  return 'TERMINATED' as const
}

const gone = ({ pod_id }: LivePod) =>
  new AppError(
    'conflict',
    'pod.gone',
    `The pod host does not know the pod ${pod_id} any more; terminate it to remove it from the list`,
  )
