import { handles, pruneBus } from '@guildhall/bus/jobs'
import { pruneJobs } from '@guildhall/contracts/ops'
import { importEventCsv } from '@guildhall/contracts/point-imports'
import type { Deps } from './deps.ts'
import { failImport, runImport } from './imports/run.ts'
import { pruneImports } from './orgs/prune.ts'

/** What the store runs. */
export const jobHandlers = (deps: Deps) => [
  handles(importEventCsv, (args, { run_id }) => runImport(deps, run_id, args), failImport),
  handles(pruneJobs.store, async () => {
    await pruneImports(deps.db, deps.now())
    await pruneBus(deps.db)
  }),
]
