import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'
import { readHostKey } from '../clients/host-key.ts'
import type { HostPod } from '../clients/podhost-shapes.ts'
import type { Config } from '../config.ts'
import type { Db, LivePod, Trx } from '../db.ts'
import { fingerprintOfLine } from '../pods/shown.ts'

/** How long a key that was read counts before it is read again. */
const KEPT_MS = 60_000
const PODS_KEPT = 10_000

/** Where a running pod answers over SSH. */
export interface SshAddress {
  host: string
  port: number
}
export type HostKeys = ReturnType<typeof createHostKeys>

/** A pod runs from one of its starts to the next; the host tells when that was. */
const startOf = ({ startedAt }: HostPod) => startedAt ?? ''

/**
 * Pins the SSH host key of each pod at each of its starts (decisions.md § 2). With COMPUTE_PIN_HOST_KEYS
 * off, nothing is read and nothing pinned.
 */
export function createHostKeys({ db, config }: { db: Db; config: Config }) {
  /** Each pod's last start of ours or accepted key, part of its key: what was read before is not looked at after it. */
  const lastStarts = new LRUCache<string, number>({ max: PODS_KEPT, ttl: 2 * KEPT_MS })
  let starts = 0
  const forget = ({ id }: LivePod) => void lastStarts.set(id, ++starts)
  type Reading = { row: LivePod; pod: HostPod; address: SshAddress }
  const known = new LRUCache<string, string, Reading>({
    max: PODS_KEPT,
    ttl: KEPT_MS,
    fetchMethod: async (_key, _stale, { context: { row, pod, address } }) => {
      const key = await readHostKey(address)
      await pin(db, row, startOf(pod), key)
      return key
    },
  })
  const placeOf = ({ row, pod, address }: Reading) =>
    JSON.stringify([row.id, startOf(pod), address.host, address.port, lastStarts.get(row.id) ?? 0])

  return {
    /** The key that the pod shows and that is pinned. Throws 502 `pod.host_key_changed` where these differ. */
    async pinned(row: LivePod, pod: HostPod, address: SshAddress): Promise<string | null> {
      if (!config.COMPUTE_PIN_HOST_KEYS) return null
      const reading = { row, pod, address }
      return kept(known, placeOf(reading), { context: reading })
    },

    /** Pins the key that the pod shows now, if it is the one that an officer saw; else throws 409. */
    async accept(trx: Trx, row: LivePod, pod: HostPod, seen: { key: string; fingerprint: string }) {
      if (fingerprintOfLine(seen.key) !== seen.fingerprint) throw another(seen.key)
      forget(row) // the key before it may still be kept
      await trx
        .updateTable('pods')
        .set({ host_key: seen.key, host_key_start: startOf(pod) })
        .where('id', '=', row.id)
        .execute()
    },

    /** At a start of ours: the key read next is pinned. */
    async unpin(trx: Trx, row: LivePod) {
      forget(row)
      await trx
        .updateTable('pods')
        .set({ host_key: null, host_key_start: null })
        .where('id', '=', row.id)
        .execute()
    },
  }
}

/** Of two who pin at once the first counts, and the other is held to it. */
async function pin(db: Db, row: LivePod, start: string, key: string) {
  const pinned = await db
    .updateTable('pods')
    .set({ host_key: key, host_key_start: start })
    .where('id', '=', row.id)
    .where((where) =>
      where.or([
        where('host_key', '=', key),
        where('host_key', 'is', null),
        where('host_key_start', 'is distinct from', start),
      ]),
    )
    .executeTakeFirst()
  if (pinned.numUpdatedRows === 0n) throw hostKeyChanged(key)
}

export const hostKeyChanged = (key: string) =>
  new AppError(
    'upstream',
    'pod.host_key_changed',
    `The pod shows another SSH host key than at its start: ${fingerprintOfLine(key)}. Somebody may be in between. An officer who knows why accepts it with POST …/host-key and that fingerprint.`,
  )

const another = (key: string) =>
  new AppError(
    'conflict',
    'host_key.another',
    `The pod shows ${fingerprintOfLine(key)} at the moment; accept that one if it is the right one`,
  )
