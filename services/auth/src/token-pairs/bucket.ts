import { ACCESS_TOKEN_SECONDS, REVOKED_BUCKET } from '@guildhall/contracts/auth'
import { Kvm } from '@nats-io/kv'
import type { Deps } from '../deps.ts'
import { listRevoked } from './queries.ts'

/** Entries outlive every token they may name. */
const KEEP_MS = 2 * ACCESS_TOKEN_SECONDS * 1000

/** Makes the bucket of revoked tokens and writes it anew from the table after each connection. */
export function keepRevokedBucket({ bus, db, now }: Pick<Deps, 'bus' | 'db' | 'now'>) {
  bus.onConnected(async () => {
    const bucket = await new Kvm(bus.js).create(REVOKED_BUCKET, { ttl: KEEP_MS })
    for (const { jti, expires_at } of await listRevoked(db, now())) {
      await bucket.put(jti, JSON.stringify({ exp: Math.floor(expires_at.getTime() / 1000) }))
    }
  })
}
