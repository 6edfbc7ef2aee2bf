import type { Deps } from '../deps.ts'

const TABLES = ['apps', 'pods', 'org_keys', 'certificates', 'user_folders', 'settings'] as const

/**
 * Deletes all that compute keeps of an org. Its pods are terminated where the org's key can still be had;
 * those that cannot be are named in the error log, because they go on costing. May be repeated.
 */
export async function purgeOrg(deps: Deps, orgId: number): Promise<void> {
  const { db, podhost, log } = deps
  const pods = await db
    .selectFrom('pods')
    .select('pod_id')
    .where('org_id', '=', orgId)
    .where('pod_id', 'is not', null)
    .execute()
  const left: string[] = []
  for (const { pod_id } of pods) {
    await podhost.remove(orgId, pod_id ?? '').catch(() => left.push(pod_id ?? ''))
  }
  if (left.length > 0)
    log.error(
      { org_id: orgId, pods: left },
      `Terminate these pods of a purged org on its own account at the pod host: ${left.join(', ')}`,
    )
  await db.transaction().execute(async (trx) => {
    for (const table of TABLES) await trx.deleteFrom(table).where('org_id', '=', orgId).execute()
  })
  deps.live.forget()
}
