import { jobServices, tellJobDays } from '@guildhall/contracts/job-runs'
import type { OrgRef } from '@guildhall/contracts/route'
import {
  getTrends,
  type SeriesDays,
  type SeriesInfo,
  type SeriesKey,
  seriesInfo,
  seriesKeys,
  tellTrends,
  trendServices,
} from '@guildhall/contracts/trends'
import type { App } from '@guildhall/service/app'
import { answerOf } from '../answer-of.ts'
import { auditDays } from '../audit/queries.ts'
import type { Deps } from '../deps.ts'
import { daysUpTo, filled, sumOf } from './days.ts'

export function trendRoutes(app: App, deps: Deps) {
  app.implement(getTrends, async ({ org, query: { days } }) => {
    const dates = daysUpTo(deps.now(), days)
    const keys = seriesKeys.filter((key) => isOn(seriesInfo[key], org))
    const asked = { org_id: org.id, since: `${dates[0]}T00:00:00Z` }
    const { told, missing } = await toldOf(deps, keys, asked)
    const series = keys.flatMap((key) => {
      const counts = told[key]
      if (!counts) return []
      const { title, unit } = seriesInfo[key]
      const shown = filled(dates, counts)
      const total = sumOf(shown.map(({ value }) => value))
      const failed = sumOf(shown.map((day) => day.failed))
      return [{ key, title, unit, total, failed, days: shown }]
    })
    return { days, series, unavailable: missing }
  })
}

const isOn = ({ module }: SeriesInfo, { modules }: OrgRef) =>
  module === undefined || modules.includes(module)

interface Asked {
  org_id: number
  since: string
}

/** What each service tells of these series; those of one that does not answer are missing, or too low. */
async function toldOf(deps: Deps, keys: SeriesKey[], asked: Asked) {
  const services = trendServices.filter((service) =>
    keys.some((key) => seriesInfo[key].service === service),
  )
  const [actions, jobs, ...others] = await Promise.all([
    auditDays(deps.db, asked),
    jobDays(deps, asked),
    ...services.map((service) => answerOf(deps, tellTrends(service), asked)),
  ])
  const told: SeriesDays = Object.assign({ actions, jobs: jobs.days }, ...others)
  const missing = keys.filter((key) => !told[key] || (key === 'jobs' && !jobs.complete))
  return { told, missing }
}

async function jobDays(deps: Deps, asked: Asked) {
  const told = await Promise.all(
    jobServices.map((service) => answerOf(deps, tellJobDays(service), asked)),
  )
  const days = told.flatMap((one) => one?.days ?? [])
  return { days, complete: told.every((one) => one !== undefined) }
}
