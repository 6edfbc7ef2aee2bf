import type { Log } from '@guildhall/service/log'
import type { PodRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { adopt, podOfRecord } from './adopt.ts'
import { deletePod } from './queries.ts'

/** A request that still waits for the host is left alone. */
const GRACE_MS = 60_000
/** A pod that has not shown itself by then was never made. */
const GIVE_UP_MS = 24 * 3_600_000
const BY = { source: 'job', actor_kind: 'job', actor_id: 'compute.reconcile' } as const

/**
 * Looks on the host for pods whose making was never answered, and adopts them by the record in their
 * environment. Other pods of the account are none of ours. A host that fails is asked again next time.
 */
export async function reconcile(deps: Deps, log: Log, signal: AbortSignal): Promise<void> {
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

function creatingSince({ db }: Deps, before: Date): Promise<PodRow[]> {
  return db
    .selectFrom('pods')
    .selectAll()
    .where('state', '=', 'creating')
    .where('created_at', '<', before)
    .orderBy('id')
    .execute()
}
