import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { deleteSourceRows, keysOfOrg, unsweptSources } from './queries.ts'

/**
 * Deletes an org's settings, its run log and every source with its versions, chunks and rows of the index, one after the
 * other: cut off, it goes on when it is repeated. Throws where rows are left in the index.
 */
export async function purgeSources({ db, indexer }: Deps, orgId: number): Promise<void> {
  await db.deleteFrom('settings').where('org_id', '=', orgId).execute()
  for (const key of await keysOfOrg(db, orgId)) {
    const id = await db.transaction().execute((trx) => deleteSourceRows(trx, orgId, key))
    if (id !== undefined) await indexer.settle(id)
  }
  await db.deleteFrom('pack_results').where('org_id', '=', orgId).execute()
  await db.deleteFrom('runs').where('org_id', '=', orgId).execute() // by then no crawl adds any
  for (const id of await unsweptSources(db, orgId)) await indexer.settle(id)
  const left = await unsweptSources(db, orgId)
  if (left.length > 0)
    throw new AppError(
      'unavailable',
      'source.purge_unfinished',
      `The search index cannot be written at the moment: rows of ${left.length} sources are left in it; repeat the purge`,
    )
}
