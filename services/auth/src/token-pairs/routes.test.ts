import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '@guildhall/bus/testing'
import { logout, refresh, revoke } from '@guildhall/contracts/auth'
import { createSealer } from '@guildhall/outbound/sealed'
import { people } from '@guildhall/sandbox/demo'
import { newId } from '@guildhall/service/id'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { sql } from 'kysely'
import { callerOf, signedIn, type TestAuth, testAuth } from '../testing.ts'
import { issuePair, SIGN_IN_DAYS } from './issue.ts'
import { GRACE_MS } from './routes.ts'
import { openSigner } from './signer.ts'

const DAY_MS = 86_400_000

const sealerOf = (key: string) => createSealer(key, 'auth.signing_keys')

/** A pair as a sign-in makes it. */
async function newPair({ db, settings, clock }: TestAuth) {
  const signer = await openSigner(db, sealerOf(settings.SECRET_KEY), quietLog)
  const now = () => new Date(Date.now() + clock.ahead)
  return db.transaction().execute((trx) => issuePair(trx, { signer, now }, people.officer))
}

const refreshWith = (auth: TestAuth, refresh_token: string) =>
  auth.as({}).call(refresh, { body: { refresh_token } })

async function refreshed(auth: TestAuth, token: string) {
  const reply = await refreshWith(auth, token)
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

const codeOf = ({ body }: { body: unknown }) => (body as { code?: string }).code

const revokedTokens = async ({ db }: TestAuth) =>
  (await db.selectFrom('revoked_tokens').select('jti').execute()).map(({ jti }) => jti)

test('a refresh gives a new pair for the same person', async (t) => {
  const auth = await testAuth(t)
  const first = await newPair(auth)
  const second = await refreshed(auth, first.refresh_token)
  assert.notEqual(second.refresh_token, first.refresh_token)
  assert.equal(decodeJwt(second.access_token).chat_user_id, people.officer.id)
})

test('two tabs that refresh at once both get a pair', async (t) => {
  const auth = await testAuth(t)
  const { refresh_token } = await newPair(auth)
  const replies = await Promise.all([
    refreshWith(auth, refresh_token),
    refreshWith(auth, refresh_token),
  ])
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 200],
  )
})

test('a spent token used after the grace ends the family, its access tokens included', async (t) => {
  const auth = await testAuth(t)
  const first = await newPair(auth)
  const second = await refreshed(auth, first.refresh_token)
  auth.clock.ahead = GRACE_MS + 1_000
  assert.equal((await refreshWith(auth, first.refresh_token)).status, 401)
  assert.equal((await refreshWith(auth, second.refresh_token)).status, 401)
  const jtis = [first, second].map(({ access_token }) => decodeJwt(access_token).jti)
  assert.deepEqual((await revokedTokens(auth)).sort(), jtis.sort())
})

test('within the grace a spent token whose successor was used ends the family', async (t) => {
  const auth = await testAuth(t)
  const first = await newPair(auth)
  const second = await refreshed(auth, first.refresh_token)
  const third = await refreshed(auth, second.refresh_token)
  assert.equal((await refreshWith(auth, first.refresh_token)).status, 401)
  assert.equal((await refreshWith(auth, third.refresh_token)).status, 401)
})

test('a refresh token counts seven days', async (t) => {
  const auth = await testAuth(t)
  const [one, other] = [await newPair(auth), await newPair(auth)]
  auth.clock.ahead = 7 * DAY_MS - 60_000
  assert.equal((await refreshWith(auth, one.refresh_token)).status, 200)
  auth.clock.ahead = 7 * DAY_MS + 1_000
  assert.equal((await refreshWith(auth, other.refresh_token)).status, 401)
})

test('refreshing ends ninety days after the sign-in, and then the person is asked to sign in again', async (t) => {
  const auth = await testAuth(t)
  let pair = await newPair(auth)
  for (let day = 6; day < SIGN_IN_DAYS; day += 6) {
    auth.clock.ahead = day * DAY_MS
    pair = await refreshed(auth, pair.refresh_token)
  }
  auth.clock.ahead = SIGN_IN_DAYS * DAY_MS + 1_000
  const over = await refreshWith(auth, pair.refresh_token)
  assert.deepEqual([over.status, codeOf(over)], [401, 'refresh_token.sign_in_over'])
  const anew = await newPair(auth)
  assert.equal((await refreshWith(auth, anew.refresh_token)).status, 200)
})

test('unknown and malformed refresh tokens are refused', async (t) => {
  const auth = await testAuth(t)
  assert.equal((await refreshWith(auth, 'unknown')).status, 401)
  assert.equal((await refreshWith(auth, '')).status, 400)
})

test('revoking an access token ends its whole session, also without the refresh token', async (t) => {
  const auth = await testAuth(t)
  const pair = await newPair(auth)
  const { jti = '', exp = 0 } = decodeJwt(pair.access_token)
  const caller = { kind: 'platform' as const, ...callerOf(people.officer, jti, exp) }
  assert.equal((await auth.as({ caller }).call(revoke, { body: {} })).status, 200)
  assert.deepEqual(await revokedTokens(auth), [jti])
  assert.equal((await refreshWith(auth, pair.refresh_token)).status, 401)
})

test('of a family of thousands every access token ends, in one statement', async (t) => {
  const auth = await testAuth(t)
  const { access_token, refresh_token } = await newPair(auth)
  const [first] = await auth.db.selectFrom('token_pairs').selectAll().execute()
  assert.ok(first)
  const more = Array.from({ length: 1_500 }, () => {
    const id = newId()
    return { ...first, id, refresh_sha256: id, access_jti: id, parent_id: first.id }
  })
  await auth.db.insertInto('token_pairs').values(more).execute()
  const caller = { ...signedIn(), token_id: decodeJwt(access_token).jti ?? '' }
  const ended = await auth.as({ caller }).call(logout, { body: { refresh_token } })
  assert.equal(ended.status, 200)
  const rows = await auth.db
    .selectFrom('revoked_tokens')
    .select(sql<string>`cmin`.as('at'))
    .execute()
  assert.equal(rows.length, 1_501)
  assert.equal(new Set(rows.map(({ at }) => at)).size, 1)
})

test('tokens are stored only as hashes', async (t) => {
  const auth = await testAuth(t)
  const pair = await newPair(auth)
  const rows = JSON.stringify(await auth.db.selectFrom('token_pairs').selectAll().execute())
  assert.ok(!rows.includes(pair.refresh_token))
  assert.ok(!rows.includes(pair.access_token))
})

test('ten that start at once make one signing key', async (t) => {
  const auth = await testAuth(t)
  await auth.db.deleteFrom('signing_keys').execute()
  const sealer = sealerOf(auth.settings.SECRET_KEY)
  await Promise.all(Array.from({ length: 10 }, () => openSigner(auth.db, sealer, quietLog)))
  const { length } = await auth.db.selectFrom('signing_keys').select('kid').execute()
  assert.equal(length, 1)
})

test('two sessions that end each other at once never wait for one another', async (t) => {
  const auth = await testAuth(t)
  const pairs = await Promise.all(Array.from({ length: 2 }, () => newPair(auth)))
  const [first, second] = pairs
  assert.ok(first && second)
  const end = (own: typeof first, other: typeof first) => {
    const caller = { ...signedIn(), token_id: decodeJwt(own.access_token).jti ?? '' }
    const body = { refresh_token: other.refresh_token }
    return auth.as({ caller }).call(logout, { body })
  }
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, n) => (n % 2 ? end(first, second) : end(second, first))),
  )
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
  assert.equal((await auth.db.selectFrom('token_pairs').select('id').execute()).length, 0)
})

test('with another SECRET_KEY a new key signs and the tokens of before count no more', async (t) => {
  const auth = await testAuth(t)
  const before = await openSigner(auth.db, sealerOf(auth.settings.SECRET_KEY), quietLog)
  const after = await openSigner(auth.db, sealerOf('another-secret-key-of-32-characters'), quietLog)
  const kids = async (signer: typeof before) =>
    (await signer.publicKeys()).keys.map(({ kid }) => kid)
  assert.equal((await kids(after)).length, 1)
  assert.equal((await kids(before)).length, 1)
  assert.notDeepEqual(await kids(after), await kids(before))
  const { token } = await after.sign(people.officer, new Date())
  assert.deepEqual([decodeProtectedHeader(token).kid], await kids(after))
})
