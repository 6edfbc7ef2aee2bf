import { ask } from '@guildhall/bus/calls'
import { onChanged } from '@guildhall/bus/changed'
import type { Bus } from '@guildhall/bus/connect'
import { changed } from '@guildhall/contracts/event'
import { type DeclaredSecret, findSecrets } from '@guildhall/contracts/secrets'
import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'
import { lastKnown } from '../search/last-known.ts'
import type { Leg } from '../search/leg.ts'

/** How long an answer counts where a change was not heard of. */
const KEPT_MS = 60_000
const ORGS_KEPT = 1_000

/** All that knowledge may read of an org's secrets. */
const NAMES = [
  'embeddings_url',
  'embeddings_model',
  'embeddings_api_key',
  'embeddings_query_prefix',
  'renderer_url',
  'renderer_api_key',
  'search_service_url',
  'search_service_engines',
] as const satisfies DeclaredSecret[]

export type OrgSecrets = Partial<Record<(typeof NAMES)[number], string>>

/** Reads the secrets that an org set, and again as soon as they have changed. `leg` watches auth for searches. */
export function createOrgSecrets(bus: Bus, leg: Leg) {
  const known = new LRUCache<number, OrgSecrets>({
    max: ORGS_KEPT,
    ttl: KEPT_MS,
    async fetchMethod(orgId) {
      const asked = { org_id: orgId, names: [...NAMES] }
      const { secrets } = await ask(bus, findSecrets('knowledge'), asked)
      return secrets
    },
  })
  const current = (orgId: number) => kept(known, orgId)
  const last = lastKnown(current, leg)
  onChanged(bus, changed.org, (id) => {
    known.delete(Number(id))
    last.forget(Number(id))
  })
  return {
    /** Throws AppError('unavailable') while auth does not answer. */
    current,
    /** For searches: what was last known while auth does not answer. Throws where that is nothing. */
    async last(orgId: number): Promise<OrgSecrets> {
      const secrets = await last.of(orgId)
      if (secrets) return secrets
      throw new AppError('unavailable', 'org.secrets_unknown', 'auth does not answer; try again')
    },
  }
}
