import {
  ACCESS_TOKEN_SECONDS,
  REVOKED_BEAT,
  REVOKED_BUCKET,
  REVOKED_COMPLETE,
  REVOKED_SILENCE_MS,
} from '@guildhall/contracts/auth'
import { Kvm } from '@nats-io/kv'
import type { Deps } from '../deps.ts'
import { listRevoked } from './queries.ts'

/** Entries outlive every token they may name. */
const KEEP_MS = 2 * ACCESS_TOKEN_SECONDS * 1000
/** The mark of a whole bucket is written anew before it could end. */
const MARK_MS = ACCESS_TOKEN_SECONDS * 1000
/** Several in the time after which a gateway stops to trust what it knows. */
const BEAT_MS = REVOKED_SILENCE_MS / 4

/** Makes the bucket of revoked tokens and writes it anew from the table after each connection, until `signal`. */
export function keepRevokedBucket(
  { bus, db, now }: Pick<Deps, 'bus' | 'db' | 'now'>,
  signal: AbortSignal,
) {
  async function write() {
    const bucket = await new Kvm(bus.js).create(REVOKED_BUCKET, { ttl: KEEP_MS })
    for (const { jti, expires_at } of await listRevoked(db, now())) {
      await bucket.put(jti, JSON.stringify({ exp: Math.floor(expires_at.getTime() / 1000) }))
    }
    await bucket.put(REVOKED_COMPLETE, now().toISOString())
  }
  bus.onConnected(write)
  const again = () =>
    write().catch((error) =>
      bus.log.warn({ err: error }, 'The bucket of revoked tokens could not be written anew'),
    )
  const beat = () => {
    if (!bus.nats.isClosed()) bus.nats.publish(`$KV.${REVOKED_BUCKET}.${REVOKED_BEAT}`)
  }
  const timers = [setInterval(again, MARK_MS), setInterval(beat, BEAT_MS)]
  signal.addEventListener('abort', () => timers.forEach(clearInterval))
}
