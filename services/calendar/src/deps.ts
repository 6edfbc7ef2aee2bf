import type { Bus } from '@guildhall/bus/connect'
import type { Log } from '@guildhall/service/log'
import type { Accounts } from './clients/accounts.ts'
import type { Config } from './config.ts'
import type { Db } from './db.ts'
import type { EventCache } from './events/cache.ts'

/** All that calendar needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  config: Config
  /** The notes and the calendar of each org. */
  accounts: Accounts
  events: EventCache
  now: () => Date
}
