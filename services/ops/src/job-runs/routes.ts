import { ask } from '@guildhall/bus/calls'
import { actorOf } from '@guildhall/contracts/event'
import { jobServices, listJobs, retryJob, retryJobRun } from '@guildhall/contracts/job-runs'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { pageOf } from '@guildhall/service/paging'
import { z } from 'zod'
import type { Deps } from '../deps.ts'
import { runsOfOrg } from './of-org.ts'

export function jobRoutes(app: App, deps: Deps) {
  const { bus } = deps
  app.implement(listJobs, async ({ org, query: { limit, cursor, state } }) => {
    let unavailable: string[] = []
    const bound = ['jobs', org.id, state ?? null]
    const { items, next_cursor } = await pageOf({ limit, cursor, bound }, async (page) => {
      checkKey(page.before)
      const found = await runsOfOrg(deps, org, { ...page, state })
      unavailable = found.unavailable
      return found.runs
    })
    return { jobs: items, next_cursor, unavailable }
  })

  app.implement(retryJob, async ({ org, caller, params: { id } }, reply) => {
    const by = { source: 'http' as const, ...actorOf(caller) }
    const asked = { org_id: org.id, id, by }
    const told = await Promise.allSettled(
      jobServices.map((service) => ask(bus, retryJobRun(service), asked)),
    )
    const job = told.find((one) => one.status === 'fulfilled' && one.value.run)
    if (job?.status === 'fulfilled' && job.value.run)
      return reply.code(202).send({ job: job.value.run })
    throw refusalOf(told)
  })
}

/** A cursor is no secret, so its key may have been made up. */
function checkKey(before: string | undefined) {
  if (before === undefined || z.uuid().safeParse(before).success) return
  throw new AppError(
    'invalid',
    'cursor.invalid',
    'The cursor is not of this list; ask for the first page again',
  )
}

/** A service that has the run says why not; one that is silent may have it. */
function refusalOf(told: readonly PromiseSettledResult<unknown>[]): unknown {
  const errors = told.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []))
  const refused = errors.find((error) => error instanceof AppError && error.kind === 'conflict')
  return refused ?? errors[0] ?? noJob()
}

const noJob = () =>
  new AppError(
    'not_found',
    'job.not_found',
    'The org has no such job; finished ones are kept 30 days',
  )
