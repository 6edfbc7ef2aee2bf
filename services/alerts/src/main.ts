import { openService } from '@guildhall/bus/open-service'
import { type Running, runProcess } from '@guildhall/service/run'
import { buildApp } from './app.ts'
import { answerCalls } from './calls.ts'
import { type Config, readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import type { Deps } from './deps.ts'
import { jobHandlers } from './jobs.ts'

/** Starts alerts: feeds that post what is new in lists to the chat. */
export async function start(config: Config, now = () => new Date()): Promise<Running> {
  const { ALERTS_PORT: PORT, ALERTS_DATABASE_URL: OWN_DATABASE_URL } = config
  const common = { ...config, PORT, OWN_DATABASE_URL }
  await using opened = await openService<Tables>('alerts', common, migrations)
  const { db, bus, log } = opened
  const deps: Deps = { db, bus, log, config, now }
  answerCalls(deps)
  return await opened.serve(buildApp(opened, deps), jobHandlers(deps))
}

if (import.meta.main) await runProcess('alerts', () => start(readConfig()))
