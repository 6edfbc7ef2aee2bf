import { openService } from '@guildhall/bus/open-service'
import { type Running, runProcess } from '@guildhall/service/run'
import { buildApp } from './app.ts'
import { answerCalls } from './calls.ts'
import { type Config, readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import type { Deps } from './deps.ts'
import { jobHandlers } from './jobs.ts'

/** Starts the store: members, points, products and orders. */
export async function start(config: Config, now = () => new Date()): Promise<Running> {
  const { STORE_PORT: PORT, STORE_DATABASE_URL: OWN_DATABASE_URL } = config
  const common = { ...config, PORT, OWN_DATABASE_URL }
  await using opened = await openService<Tables>('store', common, migrations)
  const { db, bus, log } = opened
  const deps: Deps = { db, bus, log, config, now }
  answerCalls(deps)
  return await opened.serve(buildApp(opened, deps), jobHandlers(deps))
}

if (import.meta.main) await runProcess('store', () => start(readConfig()))
