import type { Bus } from '@guildhall/bus/connect'
import type { Log } from '@guildhall/service/log'
import type { Config } from './config.ts'
import type { Db } from './db.ts'

/** All that alerts needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  config: Config
  now: () => Date
}
