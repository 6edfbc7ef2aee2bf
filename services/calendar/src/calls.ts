import { answer } from '@guildhall/bus/calls'
import { findCalendarSettings } from '@guildhall/contracts/calendar'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'
import { purgeOrg } from './orgs/purge.ts'
import { settingsOf, shownSettings } from './settings/queries.ts'

/** What calendar answers over NATS. */
export function answerCalls({ bus, db }: Deps) {
  answer(bus, findCalendarSettings, async ({ org_id }) => {
    const row = await settingsOf(db, org_id)
    return { settings: row ? shownSettings(row) : null }
  })
  answer(bus, purgeOrgOf('calendar'), async ({ org_id }) => {
    await purgeOrg(db, org_id)
    return {}
  })
}
