import {
  ACCESS_TOKEN_SECONDS,
  REVOKED_BEAT,
  REVOKED_BUCKET,
  REVOKED_COMPLETE,
  REVOKED_COMPLETE_MS,
  REVOKED_SILENCE_MS,
} from '@guildhall/contracts/auth'
import { Kvm } from '@nats-io/kv'
import type { Deps } from '../deps.ts'
import { isToldLate, listRevoked } from './queries.ts'

/** Entries outlive every access token. App tokens count for longer: writing anew keeps their entries there. */
const KEEP_MS = 2 * ACCESS_TOKEN_SECONDS * 1000
/** A bucket whose writing took longer is not marked: its first entries could end while the mark is believed. */
const WRITING_MS = KEEP_MS - REVOKED_COMPLETE_MS
/** Entries and the mark are written anew several times before the mark is believed no longer. */
const AGAIN_MS = REVOKED_COMPLETE_MS / 4
/** Entries on their way at once: half an hour is enough for millions. */
const BATCH = 200
/** Several in the time after which a gateway stops to trust what it knows. */
const BEAT_MS = REVOKED_SILENCE_MS / 4
/** What has waited for so long may be held by a replica that lost its broker: then gateways are to ask. */
const LATE_MS = 300

/**
 * Makes the bucket of revoked tokens and writes it anew from the table after each connection, until `signal`.
 * Once it was written whole it beats, while everything that gateways must hear of is told in time.
 */
export function keepRevokedBucket(
  { bus, db, now }: Pick<Deps, 'bus' | 'db' | 'now'>,
  signal: AbortSignal,
  writingMs = WRITING_MS, // tests allow less
) {
  let written = false
  async function write() {
    const began = performance.now()
    const bucket = await new Kvm(bus.js).create(REVOKED_BUCKET, { ttl: KEEP_MS })
    const put = ({ jti, expires_at }: { jti: string; expires_at: Date }) =>
      bucket.put(jti, JSON.stringify({ exp: Math.floor(expires_at.getTime() / 1000) }))
    const rows = await listRevoked(db, now())
    for (let n = 0; n < rows.length; n += BATCH)
      await Promise.all(rows.slice(n, n + BATCH).map(put))
    if (performance.now() - began > writingMs)
      throw new Error(`Writing ${rows.length} revoked tokens took longer than ${writingMs} ms`)
    await bucket.put(REVOKED_COMPLETE, now().toISOString())
    written = true
  }
  /** A database that does not tell is silence too. */
  async function beat() {
    if (!written || (await isToldLate(db, LATE_MS).catch(() => true))) return
    if (!signal.aborted && !bus.nats.isClosed())
      bus.nats.publish(`$KV.${REVOKED_BUCKET}.${REVOKED_BEAT}`)
  }
  bus.onConnected(write)
  const again = () =>
    write().catch((error) =>
      bus.log.warn({ err: error }, 'The bucket of revoked tokens could not be written anew'),
    )
  const timers = [setInterval(again, AGAIN_MS), setInterval(onceAtATime(beat), BEAT_MS)]
  signal.addEventListener('abort', () => timers.forEach(clearInterval))
}

/** `work` that leaves out a call while the one before is under way. */
function onceAtATime(work: () => Promise<void>) {
  let running = false
  return async () => {
    if (running) return
    running = true
    await work().finally(() => {
      running = false
    })
  }
}
