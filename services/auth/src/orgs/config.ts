import { ask } from '@guildhall/bus/calls'
import { findCalendarSettings } from '@guildhall/contracts/calendar'
import { findKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import { findResolved } from '@guildhall/contracts/notifications'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'

/** The settings of the org's calendar; null where it has none or calendar does not answer. */
export async function calendarOf(deps: Deps, orgId: number) {
  const asked = { org_id: orgId }
  const settings = await unlessAway(
    deps,
    'calendar',
    async () => (await ask(deps.bus, findCalendarSettings, asked)).settings,
  )
  return settings ?? null
}

/** What the modules and the dashboard keep for an org, as they say it now. One that does not answer is left out. */
export async function configOf(deps: Deps, orgId: number) {
  const asked = { org_id: orgId }
  const [knowledge, dashboard] = await Promise.all([
    unlessAway(
      deps,
      'knowledge',
      async () => (await ask(deps.bus, findKnowledgeSettings, asked)).own,
    ),
    unlessAway(deps, 'dashboard', async () => ({
      resolved: (await ask(deps.bus, findResolved, asked)).ids,
    })),
  ])
  return { ...(knowledge && { knowledge }), ...(dashboard && { dashboard }) }
}

async function unlessAway<T>({ log }: Deps, what: string, work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    log.warn({ err: error }, `The settings of ${what} are left out`)
    return undefined
  }
}
