import { openService } from '@guildhall/bus/open-service'
import { createSealer } from '@guildhall/outbound/sealed'
import { type Running, runProcess } from '@guildhall/service/run'
import { buildApp } from './app.ts'
import { answerCalls } from './calls.ts'
import { type Config, readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import type { Deps } from './deps.ts'
import { jobHandlers } from './jobs.ts'
import { SEALED_USE } from './memories/seal.ts'

/** Starts agents: what agents keep of the members they talk to. */
export async function start(config: Config, now = () => new Date()): Promise<Running> {
  const { AGENTS_PORT: PORT, AGENTS_DATABASE_URL: OWN_DATABASE_URL } = config
  const common = { ...config, PORT, OWN_DATABASE_URL }
  await using opened = await openService<Tables>('agents', common, migrations)
  const { db, bus, log } = opened
  const sealer = createSealer(config.SECRETS_KEY, SEALED_USE)
  const deps: Deps = { db, bus, log, config, sealer, now }
  answerCalls(deps)
  return await opened.serve(buildApp(opened, deps), jobHandlers(deps))
}

if (import.meta.main) await runProcess('agents', () => start(readConfig()))
