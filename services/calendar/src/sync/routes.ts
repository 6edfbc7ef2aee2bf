import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '@guildhall/bus/calls'
import {
  type CalendarRun,
  listCalendarRuns,
  syncAllCalendars,
  syncCalendar,
} from '@guildhall/contracts/calendar'
import { findOrgsOfPerson } from '@guildhall/contracts/members'
import type { App } from '@guildhall/service/app'
import { pageOf } from '@guildhall/service/paging'
import type { Deps } from '../deps.ts'
import { settingsOf } from '../settings/queries.ts'
import { runOf, runsOf } from './queries.ts'
import { startSync } from './start.ts'

/** Shorter than the gateway waits for an answer. */
const LONGEST_WAIT_MS = 25_000
const LOOK_MS = 200

export function syncRoutes(app: App, deps: Deps) {
  const { db, bus, accounts } = deps

  app.implement(syncCalendar, async ({ org, query, caller }, reply) => {
    // what is not set up is told at once, and not by a run that failed
    await accounts.notes(await settingsOf(db, org.id), new AbortController().signal)
    const run_id = await startSync(deps, org, { force: query.force, by: caller })
    const over = query.wait ? await overBy(org.id, run_id) : undefined
    if (over) return reply.code(200).send(over)
    return reply.code(202).send({ status: 'started', run_id })
  })

  app.implement(syncAllCalendars, async ({ caller }, reply) => {
    const { chat_user_id, type } = caller
    const { orgs } = await ask(bus, findOrgsOfPerson, { chat_user_id, ...(type && { type }) })
    const runs: { org: string; run_id: string }[] = []
    for (const org of orgs.filter(({ modules }) => modules.includes('calendar'))) {
      const settings = await settingsOf(db, org.id)
      if (!settings?.notes_database_id) continue
      runs.push({
        org: org.prefix,
        run_id: await startSync(deps, org, { force: false, by: caller }),
      })
    }
    return reply.code(202).send({ status: 'started', runs })
  })

  app.implement(listCalendarRuns, async ({ org, query: { limit, cursor } }) => {
    const bound = ['calendar runs', org.id]
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound },
      (page) => runsOf(db, org.id, page),
      ({ run_id }) => run_id,
    )
    return { runs: items, next_cursor }
  })

  /** The run once it is over; nothing where that takes too long. */
  async function overBy(orgId: number, id: string): Promise<CalendarRun | undefined> {
    const end = performance.now() + LONGEST_WAIT_MS
    while (performance.now() < end) {
      const run = await runOf(db, orgId, id)
      if (run && run.status !== 'started') return run
      await sleep(LOOK_MS)
    }
    return undefined
  }
}
