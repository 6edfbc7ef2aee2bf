import type { Bus } from '@guildhall/bus/connect'
import type { Log } from '@guildhall/service/log'
import type { rateClasses } from '@guildhall/service/rate'
import type { Config } from './config.ts'
import type { Db } from './db.ts'
import type { createTurns } from './tools/turns.ts'
import type { AccessOf } from './tools/usable.ts'

/** All that mcp needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  config: Config
  /** What the token's org has connected, and the token's limits; kept for seconds. */
  accessOf: AccessOf
  /** How many calls of tools a token has under way here. */
  turns: ReturnType<typeof createTurns>
  /** Counts tools whose route costs more than a request. */
  spendRate: ReturnType<typeof rateClasses>
}
