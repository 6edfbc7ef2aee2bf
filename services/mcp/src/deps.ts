import type { Bus } from '@guildhall/bus/connect'
import type { Log } from '@guildhall/service/log'
import type { Config } from './config.ts'
import type { Db } from './db.ts'
import type { AccessOf } from './tools/usable.ts'

/** All that mcp needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  config: Config
  /** What the token's org has connected, and the token's limits; kept for seconds. */
  accessOf: AccessOf
}
