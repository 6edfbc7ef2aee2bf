import type { Bus } from '@guildhall/bus/connect'
import type { Log } from '@guildhall/service/log'
import type { Readiness } from '@guildhall/service/probes'
import type { Ci } from './ci/runs.ts'
import type { Db } from './db.ts'

/** All that ops needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  /** What this process waits for. */
  ready: Readiness
  /** What the code host says of the CI of repositories. */
  ci: Ci
  now: () => Date
}
