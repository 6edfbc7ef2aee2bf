import { ask } from '@guildhall/bus/calls'
import { findCalendarSettings } from '@guildhall/contracts/calendar'
import { findKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'

/** The settings of the org's calendar; null where it has none or calendar does not answer. */
export async function calendarOf({ bus, log }: Deps, orgId: number) {
  try {
    return (await ask(bus, findCalendarSettings, { org_id: orgId })).settings
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    log.warn({ err: error }, 'The settings of calendar are left out')
    return null
  }
}

/** What the modules keep for an org, as they say it now. One that does not answer is left out. */
export async function configOf({ bus, log }: Deps, orgId: number) {
  try {
    const { own } = await ask(bus, findKnowledgeSettings, { org_id: orgId })
    return { knowledge: own }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    log.warn({ err: error }, 'The settings of knowledge are left out')
    return {}
  }
}
