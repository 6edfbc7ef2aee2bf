import type { PodAction, PodStatus } from '@guildhall/contracts/compute'
import { AppError } from '@guildhall/service/errors'
import type { LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'

/** How a pod goes that runs or soon will, and one that does not. */
export const UP: PodStatus[] = ['RUNNING', 'STARTING', 'PROVISIONING']
export const DOWN: PodStatus[] = ['EXITED', 'ERROR']

interface Told {
  status: PodStatus
  /** False where the pod was so already. */
  moved: boolean
}

/**
 * Has the host move a pod. The host takes each action in some states alone, officers may ask for each in
 * any (interface.md, States, Pods): what it refuses is looked at again. Throws `pod.gone` for a pod that it
 * does not know, and the host's refusal where the pod is neither as asked nor can be made so.
 */
export async function tellHost(deps: Deps, pod: LivePod, action: PodAction): Promise<Told> {
  if (action === 'terminate') {
    await deps.podhost.remove(pod.org_id, pod.pod_id)
    return { status: 'TERMINATED', moved: true }
  }
  try {
    return await move(deps, pod, action)
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'pod.wrong_state')) throw error
    const { org_id, pod_id } = pod
    const found = await deps.podhost.find(org_id, pod_id).catch(() => undefined)
    if (!found) throw error
    if (isAlready(action, found.status)) return { status: found.status, moved: false }
    if (action !== 'restart' || !DOWN.includes(found.status)) throw error
    return move(deps, pod, 'start')
  }
}

/** True where a pod is as an action would leave it; a restart of one that runs is never done already. */
export function isAlready(action: PodAction, status: PodStatus): boolean {
  switch (action) {
    case 'start':
      return UP.includes(status)
    case 'restart':
      return UP.includes(status) && status !== 'RUNNING'
    case 'stop':
      return DOWN.includes(status)
    case 'terminate':
      return false
  }
}

async function move(
  { podhost }: Deps,
  pod: LivePod,
  action: Exclude<PodAction, 'terminate'>,
): Promise<Told> {
  const moved = await podhost.act(pod.org_id, pod.pod_id, action)
  if (!moved) throw gone(pod)
  return { status: moved.status, moved: true }
}

const gone = ({ name }: LivePod) =>
  new AppError(
    'conflict',
    'pod.gone',
    `The pod host does not know ${name} any more; terminate it to remove it from the list`,
  )
