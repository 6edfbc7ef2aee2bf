import type { Bus } from '@guildhall/bus/connect'
import type { Sealer } from '@guildhall/outbound/sealed'
import type { Log } from '@guildhall/service/log'
import type { Config } from './config.ts'
import type { Db } from './db.ts'

/** All that agents needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  config: Config
  /** Seals sensitive memories. */
  sealer: Sealer
  now: () => Date
}
