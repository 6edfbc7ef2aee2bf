import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs, testBroker } from '@guildhall/bus/testing'
import { findSigningKeys, isRevoked } from '@guildhall/contracts/auth'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { cleanUp, until } from '@guildhall/service/testing'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createPlatformTokens } from './platform-tokens.ts'
import { watchRevocations } from './revocations.ts'

/** A key as auth has it, and what signs app tokens with it. */
async function newKey(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kty: 'RSA', kid, alg: 'RS256', use: 'sig' }
  const sign = () =>
    new SignJWT({ type: 'app', username: 'ada', chat_user_id: '12345' })
      .setProtectedHeader({ alg: 'RS256', kid })
      .setJti(newId())
      .setIssuedAt()
      .setExpirationTime('120d')
      .sign(privateKey)
  return { jwk, sign }
}

/** A gateway's verifying, and the keys that auth publishes, which a test may change. */
async function setUp(t: Parameters<typeof testBroker>[0], keysMs: number) {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  const [old, other] = await Promise.all([newKey('old'), newKey('new')])
  const published = { keys: [old.jwk], away: false, asked: 0 }
  answer(auth, findSigningKeys, async () => {
    published.asked++
    if (published.away) throw new AppError('unavailable', 'auth.failed', 'away')
    return { keys: published.keys }
  })
  answer(auth, isRevoked, async () => ({ revoked: false }))
  await auth.nats.flush()
  const gateway = await busAs(t, { url: nats.url, peer: 'gateway' })
  const ending = new AbortController()
  cleanUp(t, async () => ending.abort())
  const silences: (() => void)[] = []
  const revocations = watchRevocations(gateway, ending.signal)
  const hearing = { ...revocations, onHearingAgain: (work: () => void) => void silences.push(work) }
  const tokens = createPlatformTokens(gateway, hearing, ending.signal, keysMs)
  const counts = (token: string) =>
    tokens.verify(token).then(
      () => true,
      (error: AppError) => {
        if (error.kind === 'unauthenticated') return false
        throw error
      },
    )
  return { old, other, published, counts, silences }
}

test('a key that auth no longer publishes ends with its tokens, those verified before included', async (t) => {
  const { old, other, published, counts } = await setUp(t, 50)
  const kept = await old.sign()
  assert.equal(await counts(kept), true)
  published.keys = [old.jwk, other.jwk]
  const asked = published.asked
  await until(() => published.asked > asked + 1)
  assert.equal(await counts(kept), true, 'with a further key beside it')
  published.keys = [other.jwk]
  await until(async () => !(await counts(kept)))
  assert.equal(await counts(await old.sign()), false, 'nor what is signed with it from now on')
  assert.equal(await counts(await other.sign()), true)
})

test('while auth is away the keys known go on', async (t) => {
  const { old, published, counts } = await setUp(t, 50)
  assert.equal(await counts(await old.sign()), true)
  published.away = true
  const asked = published.asked
  await until(() => published.asked > asked + 2)
  assert.equal(await counts(await old.sign()), true)
})

test('after a silence of auth the keys are asked for at once', async (t) => {
  const { old, other, published, counts, silences } = await setUp(t, 60_000)
  const kept = await old.sign()
  assert.equal(await counts(kept), true)
  published.keys = [other.jwk]
  assert.equal(await counts(kept), true)
  for (const hearsAgain of silences) hearsAgain()
  await until(async () => !(await counts(kept)))
})
