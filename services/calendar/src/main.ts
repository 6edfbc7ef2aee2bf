import { openService } from '@guildhall/bus/open-service'
import { type Running, runProcess } from '@guildhall/service/run'
import { buildApp } from './app.ts'
import { answerCalls } from './calls.ts'
import { createAccounts } from './clients/accounts.ts'
import { type Config, readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import type { Deps } from './deps.ts'
import { createEventCache } from './events/cache.ts'
import { jobHandlers } from './jobs.ts'

/** Starts calendar: keeps each org's calendar the same as its notes database, and serves its events. */
export async function start(config: Config, now = () => new Date()): Promise<Running> {
  const { CALENDAR_PORT: PORT, CALENDAR_DATABASE_URL: OWN_DATABASE_URL } = config
  const common = { ...config, PORT, OWN_DATABASE_URL }
  await using opened = await openService<Tables>('calendar', common, migrations)
  const { db, bus, log } = opened
  const accounts = createAccounts({ db, bus, config })
  const events = createEventCache({ accounts, config, now, log })
  const deps: Deps = { db, bus, log, config, accounts, events, now }
  answerCalls(deps)
  return await opened.serve(buildApp(opened, deps), jobHandlers(deps))
}

if (import.meta.main) await runProcess('calendar', () => start(readConfig()))
