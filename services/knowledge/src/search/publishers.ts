import { ask } from '@guildhall/bus/calls'
import { onChanged } from '@guildhall/bus/changed'
import type { Bus } from '@guildhall/bus/connect'
import { changed } from '@guildhall/contracts/event'
import { listPublishers } from '@guildhall/contracts/orgs'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'
import { lastKnown } from './last-known.ts'
import type { Leg } from './leg.ts'

/** How long an answer counts where a change was not heard of. */
const KEPT_MS = 30_000
const ALL = 'all'

/** The ids of the orgs whose public sources others may see at this moment. */
export type Publishers = () => Promise<readonly number[]>

/**
 * Asks auth who publishes, and again as soon as an org has changed: one that is unmarked or deactivated shows nothing any
 * more. While auth does not answer, those count that it named last, unless an org has changed since: then nobody
 * publishes, so searches find the org's own sources alone.
 */
export function createPublishers({
  bus,
  prefixes,
  leg,
  keptMs = KEPT_MS,
}: {
  bus: Bus
  /** Of orgs that publish by the setting KNOWLEDGE_PUBLISHERS. */
  prefixes: readonly string[]
  /** Watches auth. */
  leg: Leg
  /** For tests. */
  keptMs?: number
}): Publishers {
  const known = new LRUCache<string, { org_ids: number[] }>({
    max: 1,
    ttl: keptMs,
    fetchMethod: () => ask(bus, listPublishers, { prefixes: [...prefixes] }),
  })
  const last = lastKnown((key: string) => kept(known, key), leg)
  onChanged(bus, changed.org, () => {
    known.clear()
    last.forget(ALL)
  })
  return async () => (await last.of(ALL))?.org_ids ?? []
}
