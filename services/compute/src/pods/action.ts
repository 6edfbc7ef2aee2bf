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
import { isNotDone } from '../clients/podhost-errors.ts'
import type { HostPod } from '../clients/podhost-shapes.ts'
import type { LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'
import { type Asked, type By, forgetAction, noteAction } from './asked.ts'
import { deletePod } from './queries.ts'
import { isAlready, tellHost } from './tell.ts'

/** What is written of each action. */
const DONE = {
  start: podStarted,
  stop: podStopped,
  restart: podRestarted,
  terminate: podTerminated,
} as const
/** `compute.reconcile` runs each minute. */
const RETRY_SECONDS = 60

/**
 * Does what is asked of a pod, and answers its state as the host tells it afterwards. It is written down
 * before the host is told. Where the host gives no clear answer it is asked how the pod is; what is unclear
 * then is left to `compute.reconcile`.
 */
export async function act(deps: Deps, pod: LivePod, action: PodAction, by: By): Promise<PodStatus> {
  const { db, log, now } = deps
  const asked = await db
    .transaction()
    .execute((trx) => noteAction(trx, pod, { action, by, now: now() }))
  try {
    return await carryOut(deps, pod, asked)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (isNotDone(error)) {
      await forgetAction(db, asked.id)
      throw error
    }
    log.warn({ err: error, pod_id: pod.pod_id, action }, 'The pod host gave no clear answer')
    const seen = await settle(deps, pod, asked).catch(() => undefined)
    if (seen) return seen
    throw unclear(action, error)
  }
}

/**
 * Tells the host, and writes that it is done; of a pod that is so already nothing is written. May be
 * repeated.
 */
export async function carryOut(deps: Deps, pod: LivePod, asked: Asked): Promise<PodStatus> {
  const told = tellHost(deps, pod, asked.action)
  const { status, moved } = await told.finally(() => deps.live.forget(pod.org_id))
  if (moved) await done(deps, pod, asked)
  else await forgetAction(deps.db, asked.id)
  return status
}

/** Looks how the pod is, and writes that what was asked is done if it shows. Answers its state then. */
export async function settle(deps: Deps, pod: LivePod, asked: Asked) {
  const found = await deps.podhost.find(pod.org_id, pod.pod_id)
  if (!found || !hasHappened(asked, found)) return undefined
  await done(deps, pod, asked)
  return found.status
}

/** True where the pod is as the action leaves it. That one is gone is believed of an answer to DELETE alone. */
function hasHappened({ action, asked_at }: Asked, found: HostPod): boolean {
  switch (action) {
    case 'start':
    case 'stop':
      return isAlready(action, found.status)
    case 'restart':
      return Date.parse(found.startedAt ?? '') > asked_at.getTime()
    case 'terminate':
      return false
  }
}

/** Once, however many find out that it is done. A start is the beginning of another pin of its host key. */
async function done({ db, hostKeys }: Deps, pod: LivePod, { id, action, asked_by }: Asked) {
  await db.transaction().execute(async (trx) => {
    if (!(await forgetAction(trx, id))) return
    if (action === 'terminate') await deletePod(trx, pod.id)
    if (action === 'start' || action === 'restart') await hostKeys.unpin(trx, pod)
    const { pod_id, name } = pod
    await enqueue(trx, audit(DONE[action], asked_by, { id: pod.org_id }, { pod_id, name }))
  })
}

/** What ends costs is done later all the same; nothing is started later that nobody may wait for. */
function unclear(action: PodAction, cause: AppError) {
  const later = ['stop', 'terminate'].includes(action)
    ? 'It is tried again each minute until it is done.'
    : 'Read its status in a minute, and ask again if it is not as you want it.'
  return new AppError(
    'upstream',
    'pod.unclear',
    `The pod host did not say clearly whether it did this (${action}). ${later}`,
    { cause, retryAfter: RETRY_SECONDS },
  )
}
