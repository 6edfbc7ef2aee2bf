import { toldChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  getJwks,
  getName,
  type Jwks,
  logout,
  refresh,
  refreshReused,
  revoke,
  sessionRevoked,
  type TokenPair,
  validToken,
} from '@guildhall/contracts/auth'
import type { Caller } from '@guildhall/contracts/caller'
import { changed } from '@guildhall/contracts/event'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'
import type { z } from 'zod'
import { forgetSession, sentSession } from '../accounts/session-cookie.ts'
import { deleteSession, sessionOf } from '../accounts/sessions.ts'
import type { PairRow, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { endOfSignIn, issuePair, SIGN_IN_DAYS } from './issue.ts'
import {
  familyOfAccess,
  lockPair,
  markSpent,
  pairOf,
  revokeAccess,
  revokeFamilies,
  revokeFamily,
  successorUsed,
} from './queries.ts'

/** Milliseconds in which a spent refresh token gets a pair once more: two tabs refresh at once (decisions.md § 1). */
export const GRACE_MS = 30_000

/** How late the public document may know a new signing key; gateways ask for theirs over NATS. */
const PUBLISHED_MS = 5_000

export function tokenPairRoutes(app: App, deps: Deps) {
  const { db, bus, config, signer, now } = deps
  // anybody may ask, and each answer opens every sealed key
  const published = new LRUCache<'keys', z.output<typeof Jwks>>({
    max: 1,
    ttl: PUBLISHED_MS,
    fetchMethod: () => signer.publicKeys(),
  })

  app.implement(refresh, async ({ body }) => {
    const pair = await db.transaction().execute((trx) => rotate(trx, deps, body.refresh_token))
    if (!pair) {
      bus.outbox.emit('written') // the family of a token that was used twice has ended, and gateways are to know
      throw new AppError(
        'unauthenticated',
        'refresh_token.invalid',
        'The refresh token is unknown, used or expired; sign in again',
      )
    }
    return pair
  })

  app.implement(revoke, async ({ caller, body }) => {
    await db.transaction().execute((trx) => endSession(trx, deps, caller, body.refresh_token))
    bus.outbox.emit('written') // every gateway is to know within a second
    return { message: 'Revoked' }
  })

  app.implement(logout, async ({ caller, body, cookies }, reply) => {
    const sent = sentSession(config, cookies)
    const session = await sessionOf(db, sent, { secretKey: config.SECRET_KEY, now: now() })
    await db.transaction().execute(async (trx) => {
      await endSession(trx, deps, caller, body.refresh_token)
      if (!session) return
      await deleteSession(trx, session.id)
      await enqueue(trx, toldChanged(changed.session, session.id))
    })
    bus.outbox.emit('written')
    if (sent) reply.header('set-cookie', forgetSession(config))
    return reply.code(200).send({ message: 'Logged out' })
  })

  app.implement(getName, async ({ caller }) => ({ name: caller.username }))
  app.implement(validToken, async () => ({ status: 'success', valid: true, expired: false }))
  app.implement(getJwks, () => kept(published, 'keys'))

  /** Nothing where the token does not count. Of many who send it at once, all but the first fall under the grace. */
  async function rotate(trx: Trx, deps: Deps, token: string): Promise<TokenPair | undefined> {
    const pair = await lockPair(trx, token)
    if (pair && endOfSignIn(pair.signed_in_at) <= now()) throw signInOver()
    if (!pair || pair.expires_at <= now()) return undefined
    if (pair.spent_at && !(await inGrace(trx, pair))) {
      const by = { source: 'http', actor_kind: 'officer', actor_id: pair.chat_user_id } as const
      await revokeFamily(trx, pair.family_id, now())
      await enqueue(trx, audit(refreshReused, by, undefined, { username: pair.username }))
      return undefined
    }
    await markSpent(trx, pair.id, now())
    return issuePair(trx, deps, { id: pair.chat_user_id, username: pair.username }, pair)
  }

  async function inGrace(trx: Trx, { id, spent_at }: PairRow) {
    const age = now().getTime() - (spent_at?.getTime() ?? 0)
    return age <= GRACE_MS && !(await successorUsed(trx, id))
  }
}

const signInOver = () =>
  new AppError(
    'unauthenticated',
    'refresh_token.sign_in_over',
    `A sign-in counts ${SIGN_IN_DAYS} days, and these are over; sign in again`,
  )

/** Ends the access token presented with its family, and the family of the refresh token sent along. */
async function endSession(trx: Trx, { now }: Deps, caller: Caller, refreshToken?: string) {
  const sent = refreshToken === undefined ? undefined : await pairOf(trx, refreshToken)
  const own = caller.kind === 'platform' ? await familyOfAccess(trx, caller.token_id) : undefined
  const families = [sent?.family_id, own].filter((id) => id !== undefined)
  await revokeFamilies(trx, families, now())
  if (caller.kind === 'platform') {
    const expires_at = new Date(caller.expires_at * 1000)
    await revokeAccess(trx, [{ jti: caller.token_id, expires_at }])
    await enqueue(trx, audit(sessionRevoked, caller, undefined, { username: caller.username }))
  } else if (sent) {
    const by = { source: 'http', actor_kind: 'officer', actor_id: sent.chat_user_id } as const
    await enqueue(trx, audit(sessionRevoked, by, undefined, { username: sent.username }))
  }
}
