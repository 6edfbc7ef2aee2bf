import type { Bus } from '@guildhall/bus/connect'
import type { Log } from '@guildhall/service/log'
import type { Readiness } from '@guildhall/service/probes'
import type { Db } from './db.ts'

/** All that ops needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  /** What this process waits for. */
  ready: Readiness
  now: () => Date
}
