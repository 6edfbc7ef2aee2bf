import type { Jwks } from '@guildhall/contracts/auth'
import type { z } from 'zod'
import type { Db } from '../db.ts'

/** The public halves of every signing key. */
export async function jwks(db: Db): Promise<z.output<typeof Jwks>> {
  const rows = await db
    .selectFrom('signing_keys')
    .select('public_jwk')
    .orderBy('created_at', 'desc')
    .execute()
  return { keys: rows.map(({ public_jwk }) => public_jwk as z.output<typeof Jwks>['keys'][number]) }
}
