import { ask } from '@guildhall/bus/calls'
import { onChanged } from '@guildhall/bus/changed'
import type { Bus } from '@guildhall/bus/connect'
import { changed } from '@guildhall/contracts/event'
import { listPublishers } from '@guildhall/contracts/orgs'
import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import type { Log } from '@guildhall/service/log'
import { LRUCache } from 'lru-cache'

/** How long an answer counts where a change was not heard of. */
const KEPT_MS = 30_000
const ALL = 'all'

/** The ids of the orgs whose public sources others may see at this moment. */
export type Publishers = () => Promise<readonly number[]>

/**
 * Asks auth who publishes, and again as soon as an org has changed: one that is unmarked or deactivated shows nothing any
 * more. While auth does not answer nobody publishes, so searches find the org's own sources alone.
 */
export function createPublishers({
  bus,
  prefixes,
  log,
  keptMs = KEPT_MS,
}: {
  bus: Bus
  /** Of orgs that publish by the setting KNOWLEDGE_PUBLISHERS. */
  prefixes: readonly string[]
  log: Log
  /** For tests. */
  keptMs?: number
}): Publishers {
  const known = new LRUCache<string, { org_ids: number[] }>({
    max: 1,
    ttl: keptMs,
    fetchMethod: () => ask(bus, listPublishers, { prefixes: [...prefixes] }),
  })
  onChanged(bus, changed.org, () => known.clear())

  let failing = false

  return async () => {
    try {
      const { org_ids } = await kept(known, ALL)
      if (failing) log.info('Who publishes is known again')
      failing = false
      return org_ids
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (!failing)
        log.warn({ err: error }, 'Who publishes is unknown; searches leave out other orgs')
      failing = true
      return []
    }
  }
}
