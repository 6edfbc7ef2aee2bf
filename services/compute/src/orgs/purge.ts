import type { Deps } from '../deps.ts'

const TABLES = ['apps', 'pods', 'org_keys', 'certificates', 'user_folders', 'settings'] as const

/**
 * Deletes all that compute keeps of an org; its pods were terminated before (`endPods`). Those that were not
 * are named in the error log, because they go on costing. May be repeated.
 */
export async function purgeOrg({ db, live, log }: Deps, orgId: number): Promise<void> {
  const left = await db.transaction().execute(async (trx) => {
    const pods = await trx
      .selectFrom('pods')
      .select('pod_id')
      .where('org_id', '=', orgId)
      .where('pod_id', 'is not', null)
      .execute()
    for (const table of TABLES) await trx.deleteFrom(table).where('org_id', '=', orgId).execute()
    return pods.map(({ pod_id }) => pod_id)
  })
  live.forget(orgId)
  if (left.length > 0)
    log.error(
      { org: null, org_id: orgId, pods: left }, // the errors of the org are deleted meanwhile
      `Terminate these pods of a purged org on its own account at the pod host: ${left.join(', ')}`,
    )
}
