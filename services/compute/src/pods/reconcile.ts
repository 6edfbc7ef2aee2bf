import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import type { PodRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { carryOut, settle } from './action.ts'
import { adopt, podOfRecord } from './adopt.ts'
import { forgetAction, unsettledActions } from './asked.ts'
import { deletePod } from './queries.ts'

/** A request that still waits for the host is left alone. */
const GRACE_MS = 60_000
/** Whoever asked has had an answer by then, with all that the client tries again. */
const LONGEST_REQUEST_MS = 5 * 60_000
/** A pod that has not shown itself by then was never made. */
const GIVE_UP_MS = 24 * 3_600_000
const BY = { source: 'job', actor_kind: 'job', actor_id: 'compute.reconcile' } as const

/**
 * Sees to what a dead process or an unclear answer of the host left behind. A host that fails is asked again
 * next time, and holds up no other org.
 */
export async function reconcile(deps: Deps, log: Log, signal: AbortSignal): Promise<void> {
  await findPods(deps, log, signal)
  await settleActions(deps, log, signal)
}

/**
 * Looks on the host for pods whose making was never answered, and adopts them by the record in their
 * environment. Other pods of the account are none of ours.
 */
async function findPods(deps: Deps, log: Log, signal: AbortSignal): Promise<void> {
  const waiting = await creatingSince(deps, new Date(deps.now().getTime() - GRACE_MS))
  for (const [orgId, rows] of Map.groupBy(waiting, ({ org_id }) => org_id)) {
    if (signal.aborted) return
    await reconcileOrg(deps, orgId, rows).catch((error) =>
      log.warn({ err: error, org: orgId }, 'Pods of an org cannot be looked for at the moment'),
    )
  }
}

async function reconcileOrg(deps: Deps, orgId: number, rows: PodRow[]) {
  const pods = await deps.podhost.list(orgId)
  const oldest = deps.now().getTime() - GIVE_UP_MS
  for (const row of rows) {
    const pod = podOfRecord(pods, row.id)
    if (pod) await adopt(deps, row, pod, BY)
    else if (row.created_at.getTime() < oldest)
      await deps.db.transaction().execute((trx) => deletePod(trx, row.id))
  }
}

/** Writes down what was done, and does what was asked and ends costs. */
async function settleActions(deps: Deps, log: Log, signal: AbortSignal) {
  const graceEnd = new Date(deps.now().getTime() - GRACE_MS)
  for (const unsettled of await unsettledActions(deps.db, graceEnd)) {
    if (signal.aborted) return
    const { pod_id } = unsettled.pod
    await settleAction(deps, unsettled).catch((error) =>
      log.warn({ err: error, pod_id }, 'What was asked of a pod is not done yet'),
    )
  }
}

type Unsettled = Awaited<ReturnType<typeof unsettledActions>>[number]

/** A start is never sent again: whoever asked for it may not be there any more. */
async function settleAction(deps: Deps, { pod, asked, superseded }: Unsettled) {
  const { action, id, asked_at } = asked
  const endsCosts = action === 'terminate' || (action === 'stop' && !superseded)
  if (!superseded && (await settle(deps, pod, asked))) return
  if (endsCosts) {
    await carryOut(deps, pod, asked).catch(async (error) => {
      if (!isGone(error)) throw error
      await forgetAction(deps.db, id) // what the host does not know costs nothing
    })
  } else if (deps.now().getTime() - asked_at.getTime() > LONGEST_REQUEST_MS)
    await forgetAction(deps.db, id)
}

const isGone = (error: unknown) => error instanceof AppError && error.code === 'pod.gone'

function creatingSince({ db }: Deps, before: Date): Promise<PodRow[]> {
  return db
    .selectFrom('pods')
    .selectAll()
    .where('state', '=', 'creating')
    .where('created_at', '<', before)
    .orderBy('id')
    .execute()
}
