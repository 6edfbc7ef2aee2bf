import { jobServices, listJobRuns } from '@guildhall/contracts/job-runs'
import type { JobRun } from '@guildhall/contracts/ops'
import type { OrgRef } from '@guildhall/contracts/route'
import { answerOf } from '../answer-of.ts'
import type { Deps } from '../deps.ts'

interface Page {
  before: string | undefined
  limit: number
  state?: JobRun['state'] | undefined
}

/** Up to `limit` runs of jobs for the org from every service, the newest first, and the services that are missing. */
export async function runsOfOrg(deps: Deps, { id: org_id }: OrgRef, page: Page) {
  const told = await Promise.all(
    jobServices.map((service) => answerOf(deps, listJobRuns(service), { org_id, ...page })),
  )
  const runs = told.flatMap((one) => one?.runs ?? [])
  return {
    runs: runs.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, page.limit),
    unavailable: jobServices.filter((_, n) => told[n] === undefined),
  }
}
