import { openService } from '@guildhall/bus/open-service'
import { rateClasses } from '@guildhall/service/rate'
import { type Running, runProcess } from '@guildhall/service/run'
import { buildApp } from './app.ts'
import { answerCalls } from './calls.ts'
import { type Config, readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import type { Deps } from './deps.ts'
import { jobHandlers } from './jobs.ts'
import { createTurns } from './tools/turns.ts'
import { createAccessOf } from './tools/usable.ts'

/** Starts mcp: the tools of agents. */
export async function start(config: Config): Promise<Running> {
  const { MCP_PORT: PORT, MCP_DATABASE_URL: OWN_DATABASE_URL } = config
  const common = { ...config, PORT, OWN_DATABASE_URL }
  await using opened = await openService<Tables>('mcp', common, migrations)
  const { db, bus, log } = opened
  const [turns, spendRate] = [createTurns(), rateClasses(config)]
  const deps: Deps = { db, bus, log, config, turns, spendRate, accessOf: createAccessOf(bus) }
  answerCalls(deps)
  return await opened.serve(buildApp(opened, deps), jobHandlers(deps))
}

if (import.meta.main) await runProcess('mcp', () => start(readConfig()))
