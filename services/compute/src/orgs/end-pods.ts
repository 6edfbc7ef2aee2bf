import { AppError } from '@guildhall/service/errors'
import type { HostPod } from '../clients/podhost-shapes.ts'
import type { LivePod, PodRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { act } from '../pods/action.ts'
import { adopt, podOfRecord } from '../pods/adopt.ts'
import { podByRecord } from '../pods/queries.ts'

const BY = { source: 'cli', actor_kind: 'operator', actor_id: null } as const

interface Ended {
  /** Pods that go on costing, by their names and ids. */
  left: string[]
  reason: string | null
}

/**
 * Terminates every pod of an org, also one whose making was never answered. It ends at the first that cannot
 * be terminated, and names that and those after it. May be repeated.
 */
export async function endPods(deps: Deps, orgId: number): Promise<Ended> {
  const rows = await deps.db
    .selectFrom('pods')
    .selectAll()
    .where('org_id', '=', orgId)
    .orderBy('id')
    .execute()
  if (rows.length === 0) return { left: [], reason: null }
  let ended = 0
  try {
    const pods = await deps.podhost.list(orgId)
    for (const row of rows) {
      await endPod(deps, row, pods)
      ended++
    }
    return { left: [], reason: null }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { left: rows.slice(ended).map(said), reason: `${error.message}.` }
  }
}

async function endPod(deps: Deps, row: PodRow, pods: HostPod[]) {
  const made = podOfRecord(pods, row.id)
  if (row.state === 'creating' && made) await adopt(deps, row, made, BY)
  const now = await podByRecord(deps.db, row.id)
  if (now?.state === 'live') await act(deps, now as LivePod, 'terminate', BY)
}

const said = ({ name, pod_id }: PodRow) =>
  `${name} (${pod_id ?? 'the pod host never said whether it made it'})`
