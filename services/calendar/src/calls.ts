import { answer } from '@guildhall/bus/calls'
import { findCalendarSettings } from '@guildhall/contracts/calendar'
import { tellSections } from '@guildhall/contracts/dashboard'
import { tellProblems } from '@guildhall/contracts/notifications'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'
import { problemsOf, sectionsOf } from './orgs/dashboard.ts'
import { purgeOrg } from './orgs/purge.ts'
import { settingsOf, shownSettings } from './settings/queries.ts'

/** What calendar answers over NATS. */
export function answerCalls({ bus, db }: Deps) {
  answer(bus, findCalendarSettings, async ({ org_id }) => {
    const row = await settingsOf(db, org_id)
    return { settings: row ? shownSettings(row) : null }
  })
  answer(bus, tellSections('calendar'), ({ org_id }) => sectionsOf(db, org_id))
  answer(bus, tellProblems('calendar'), async ({ org_id }) => ({
    problems: await problemsOf(db, org_id),
  }))
  answer(bus, purgeOrgOf('calendar'), async ({ org_id }) => {
    await purgeOrg(db, org_id)
    return {}
  })
}
