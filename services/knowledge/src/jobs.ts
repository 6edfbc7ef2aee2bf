import { handles, pruneBus } from '@guildhall/bus/jobs'
import { indexPending, rebuildSearchIndex } from '@guildhall/contracts/knowledge'
import { crawlDue, crawlOne, reindex } from '@guildhall/contracts/knowledge-crawls'
import { reembed } from '@guildhall/contracts/knowledge-settings'
import { pruneJobs } from '@guildhall/contracts/ops'
import { indexPackResult } from '@guildhall/contracts/packs'
import type { Orgs } from './clients/orgs.ts'
import type { Crawler } from './crawls/crawler.ts'
import type { Deps } from './deps.ts'
import { rebuildIndex, retireOld } from './indexing/rebuild.ts'
import { indexResult } from './packs/index-result.ts'
import { pruneResults } from './packs/results.ts'
import { reembedOrg } from './reembed/run.ts'

/** What knowledge runs. */
export const jobHandlers = (deps: Deps & { orgOf: Orgs }, crawler: Crawler) => [
  handles(indexPending, async (_args, { signal }) => {
    await retireOld(deps, signal, 'leave')
    return await deps.indexer.settleAll(signal)
  }),
  handles(rebuildSearchIndex, (_args, { signal }) => rebuildIndex(deps, signal)),
  handles(reembed, (asked, { signal }) => reembedOrg(deps, asked, signal)),
  handles(crawlDue, (_args, { signal }) => crawler.due(signal)),
  handles(crawlOne, (asked, { signal }) => crawler.byKey(asked, signal)),
  handles(reindex, ({ org_id, asked_at }, { signal }) =>
    crawler.ofOrg(org_id, asked_at === undefined ? undefined : new Date(asked_at), signal),
  ),
  handles(indexPackResult, ({ result_id }) => indexResult(deps, result_id)),
  handles(pruneJobs.knowledge, async (_args, { signal }) => {
    await deps.indexer.settleAll(signal) // versions left over leave the index
    await deps.index.upkeep()
    await pruneResults(deps.db)
    await pruneBus(deps.db)
  }),
]
