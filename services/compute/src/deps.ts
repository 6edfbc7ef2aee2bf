import type { Bus } from '@guildhall/bus/connect'
import type { Sealer } from '@guildhall/outbound/sealed'
import type { Log } from '@guildhall/service/log'
import type { PodHost } from './clients/podhost.ts'
import type { Config } from './config.ts'
import type { Db } from './db.ts'
import type { HostKeys } from './host-keys/pin.ts'
import type { LivePods } from './pods/live.ts'

/** All that compute needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  config: Config
  podhost: PodHost
  /** What the pod host says of an org's pods, kept for a moment. */
  live: LivePods
  hostKeys: HostKeys
  /** Seals the private keys of orgs. */
  sealer: Sealer
  now: () => Date
}
