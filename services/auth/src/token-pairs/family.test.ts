import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '@guildhall/bus/testing'
import { refresh, revoke } from '@guildhall/contracts/auth'
import { createSealer } from '@guildhall/outbound/sealed'
import { people } from '@guildhall/sandbox/demo'
import { decodeJwt } from 'jose'
import { callerOf, type TestAuth, testAuth } from '../testing.ts'
import { issuePair } from './issue.ts'
import { openSigner } from './signer.ts'

const FAMILIES = 30

/** Pairs as as many sign-ins make them. */
async function newPairs({ db, settings }: TestAuth) {
  const signer = await openSigner(
    db,
    createSealer(settings.SECRET_KEY, 'auth.signing_keys'),
    quietLog,
  )
  const deps = { signer, now: () => new Date() }
  const one = () => db.transaction().execute((trx) => issuePair(trx, deps, people.officer))
  return Promise.all(Array.from({ length: FAMILIES }, one))
}

const refreshWith = ({ as }: TestAuth, refresh_token: string) =>
  as({}).call(refresh, { body: { refresh_token } })

function revokeWith({ as }: TestAuth, access_token: string) {
  const { jti = '', exp = 0 } = decodeJwt(access_token)
  const caller = { kind: 'platform' as const, ...callerOf(people.officer, jti, exp) }
  return as({ caller }).call(revoke, { body: {} })
}

test('after a refresh and a revocation at once no token of the family counts', async (t) => {
  const auth = await testAuth(t)
  const pairs = await newPairs(auth)
  const families = await Promise.all(
    pairs.map(async (pair) => {
      const [refreshed, revoked] = await Promise.all([
        refreshWith(auth, pair.refresh_token),
        revokeWith(auth, pair.access_token),
      ])
      assert.equal(revoked.status, 200)
      return [pair, ...(refreshed.status === 200 ? [refreshed.body] : [])]
    }),
  )
  const issued = families.flat()
  const rows = await auth.db.selectFrom('revoked_tokens').select('jti').execute()
  const revoked = rows.map(({ jti }) => jti)
  for (const { access_token, refresh_token } of issued) {
    assert.ok(revoked.includes(String(decodeJwt(access_token).jti)), 'an access token goes on')
    assert.equal((await refreshWith(auth, refresh_token)).status, 401)
  }
})
