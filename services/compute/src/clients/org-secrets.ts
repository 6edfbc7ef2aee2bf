import { ask } from '@guildhall/bus/calls'
import { onChanged } from '@guildhall/bus/changed'
import type { Bus } from '@guildhall/bus/connect'
import { changed } from '@guildhall/contracts/event'
import { findSecrets } from '@guildhall/contracts/secrets'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'

/** How long an answer counts where a change was not heard of. */
const KEPT_MS = 60_000
const ORGS_KEPT = 1_000
const KEY = 'podhost_api_key'

/**
 * The values of those of an org's secrets that are set, as they are now. Throws AppError('unavailable') while
 * auth does not answer.
 */
export async function readSecrets(bus: Bus, org_id: number, names: string[]) {
  if (names.length === 0) return {}
  const { secrets } = await ask(bus, findSecrets('compute'), { org_id, names })
  return secrets
}

/** Reads the key of an org's account at the pod host, and again as soon as it has changed. Throws AppError('unavailable') while auth does not answer. */
export function createKeyOf(bus: Bus): (orgId: number) => Promise<string | undefined> {
  const known = new LRUCache<number, { key: string | undefined }>({
    max: ORGS_KEPT,
    ttl: KEPT_MS,
    async fetchMethod(org_id) {
      const { secrets } = await ask(bus, findSecrets('compute'), { org_id, names: [KEY] })
      return { key: secrets[KEY] }
    },
  })
  onChanged(bus, changed.org, (id) => known.delete(Number(id)))
  return async (orgId) => (await kept(known, orgId)).key
}
