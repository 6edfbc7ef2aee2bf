import { consume } from '@guildhall/bus/consume'
import { openService } from '@guildhall/bus/open-service'
import { ensureStreams } from '@guildhall/bus/streams'
import { type Running, runProcess } from '@guildhall/service/run'
import { buildApp } from './app.ts'
import { storeAudit } from './audit/store.ts'
import { answerCalls } from './calls.ts'
import { createCi } from './ci/runs.ts'
import { type Config, readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import type { Deps } from './deps.ts'
import { keepAlerting } from './errors/alerts.ts'
import { hourly } from './errors/budget.ts'
import { takeError } from './errors/store.ts'
import { jobHandlers } from './jobs.ts'
import { jobsBy, keepTicking } from './ticks/tick.ts'

/** Starts ops: the streams, the audit and error logs, and the clock of scheduled jobs. */
export async function start(config: Config, now = () => new Date()): Promise<Running> {
  const { OPS_PORT: PORT, OPS_DATABASE_URL: OWN_DATABASE_URL } = config
  await using opened = await openService<Tables>(
    'ops',
    { ...config, PORT, OWN_DATABASE_URL },
    migrations,
  )
  const { db, bus, log, signal, ready } = opened
  const deps: Deps = { db, bus, log, ready, ci: createCi(bus, config, now), now }
  await ensureStreams(bus.jsm)
  bus.onConnected(() => ensureStreams(bus.jsm))
  answerCalls(deps)
  return await opened.serve(buildApp(opened, deps), jobHandlers(deps), [
    consume(
      bus,
      {
        stream: 'AUDIT',
        durable: 'ops-audit',
        subject: 'audit.*',
        concurrency: 64,
        handle: (message) => storeAudit(db, message.json()),
      },
      signal,
    ),
    consume(
      bus,
      {
        stream: 'ERRORS',
        durable: 'ops-errors',
        subject: 'errors.*',
        concurrency: 8,
        handle: (message) => takeError(deps, message.json()),
      },
      signal,
    ),
    keepTicking(deps, jobsBy(config), signal),
    keepAlerting({ ...deps, config, budget: hourly(now) }, signal),
  ])
}

if (import.meta.main) await runProcess('ops', () => start(readConfig()))
