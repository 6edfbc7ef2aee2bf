import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '@guildhall/bus/testing'
import { demoWorld } from '@guildhall/sandbox/demo'
import { startSandbox } from '@guildhall/sandbox/sandbox'
import { cleanUp } from '@guildhall/service/testing'
import { exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose'
import { createIdentities } from './identity.ts'

async function setUp(t: Parameters<typeof cleanUp>[0], more = {}) {
  const world = demoWorld()
  const sandbox = await startSandbox({ world, redirectUris: [], log: quietLog })
  cleanUp(t, () => sandbox.stop())
  const settings = {
    IDP_API_URL: sandbox.identityUrl,
    IDP_SECRET_KEY: world.identity.secretKey,
    IDP_JWT_KEY: undefined,
    IDP_AUTHORIZED_PARTIES: [world.identity.authorizedParty],
    ...more,
  }
  const identities = createIdentities(settings, () => new Date())
  const seconds = Math.floor(Date.now() / 1000)
  return { world, sandbox, identities, settings, seconds }
}
const refused = (kind: string, code: string) => ({ kind, code: `identity.${code}` })

test('a token stands for its person by their verified primary email', async (t) => {
  const { sandbox, identities } = await setUp(t)
  const found = await identities.verify(await sandbox.identityToken('user_milo'))
  assert.deepEqual([found.subject, found.email], ['user_milo', 'milo@example.org'])
  assert.ok(found.valid_until.getTime() <= Date.now() + 60_000)
  const unverified = await sandbox.identityToken('user_una')
  await assert.rejects(identities.verify(unverified), refused('forbidden', 'email_unverified'))
  const unknown = await sandbox.identityToken('user_nobody')
  await assert.rejects(identities.verify(unknown), refused('unauthenticated', 'invalid'))
})

test('an email in the claims counts where the token says that it is verified', async (t) => {
  const { sandbox, identities } = await setUp(t)
  const claimed = (email_verified?: boolean) =>
    sandbox.identityToken('user_milo', { email: 'Claimed@Example.org', email_verified })
  assert.equal((await identities.verify(await claimed(true))).email, 'claimed@example.org')
  for (const said of [false, undefined])
    assert.equal((await identities.verify(await claimed(said))).email, 'milo@example.org')
})

test('foreign parties, wrong times, other keys and malformed tokens do not count', async (t) => {
  const { sandbox, identities, seconds } = await setUp(t)
  const { privateKey } = await generateKeyPair('RS256')
  const good = await sandbox.identityToken('user_milo')
  const kid = JSON.parse(Buffer.from(good.split('.')[0] ?? '', 'base64url').toString()).kid
  const forged = new SignJWT({ sub: 'user_milo', azp: 'http://store.sandbox.test' })
    .setProtectedHeader({ alg: 'RS256', kid })
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(privateKey)
  for (const token of [
    sandbox.identityToken('user_milo', { azp: 'http://evil.test' }),
    sandbox.identityToken('user_milo', { azp: undefined as never }),
    sandbox.identityToken('user_milo', { exp: seconds - 6 }),
    sandbox.identityToken('user_milo', { nbf: seconds + 60 }),
    forged,
    `${good.slice(0, -4)}AAAA`,
    'a.b.c',
    'x',
  ])
    await assert.rejects(
      identities.verify(await token),
      refused('unauthenticated', 'invalid'),
      String(await token),
    )
})

test('clocks may differ by five seconds', async (t) => {
  const { sandbox, identities, seconds } = await setUp(t)
  const late = { exp: seconds - 3, iat: seconds - 60, nbf: seconds - 60 }
  const early = { iat: seconds + 3, nbf: seconds + 3, exp: seconds + 60 }
  for (const times of [late, early])
    assert.ok(await identities.verify(await sandbox.identityToken('user_milo', times)))
})

test('a provider that is down is 503, and what it said before counts for its minute', async (t) => {
  const { world, sandbox, identities } = await setUp(t)
  const token = await sandbox.identityToken('user_milo')
  world.faults.identity = 'down'
  await assert.rejects(identities.verify(token), refused('unavailable', 'unavailable'))
  world.faults.identity = undefined
  await identities.verify(token)
  world.faults.identity = 'down'
  assert.equal((await identities.verify(token)).email, 'milo@example.org')
})

test('a provider that hangs is 503 as well, and counts again as soon as it answers', async (t) => {
  const { world, sandbox, settings } = await setUp(t)
  const identities = createIdentities(settings, () => new Date(), 100)
  const token = await sandbox.identityToken('user_milo')
  world.faults.identity = 'hangs'
  const asking = [identities.verify(token), identities.verify(token)]
  for (const asked of asking) await assert.rejects(asked, refused('unavailable', 'unavailable'))
  world.faults.identity = undefined
  assert.equal((await identities.verify(token)).email, 'milo@example.org')
})

test('tokens under keys that nobody has do not make us ask the provider each time', async (t) => {
  const { world, sandbox, identities } = await setUp(t)
  const { privateKey } = await generateKeyPair('RS256')
  const foreign = (n: number) =>
    new SignJWT({ sub: 'user_milo', azp: world.identity.authorizedParty })
      .setProtectedHeader({ alg: 'RS256', kid: `nobody-${n}` })
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(privateKey)
  await identities.verify(await sandbox.identityToken('user_milo'))
  const before = world.identity.asked
  const tokens = await Promise.all(Array.from({ length: 20 }, (_, n) => foreign(n)))
  await Promise.all(
    tokens.map((token) =>
      assert.rejects(identities.verify(token), refused('unauthenticated', 'invalid')),
    ),
  )
  assert.ok(world.identity.asked - before <= 2, `${world.identity.asked - before} requests`)
  assert.ok(await identities.verify(await sandbox.identityToken('user_milo')))
})

test('a good token is let in right after tokens under invented keys', async (t) => {
  const { world, sandbox, identities } = await setUp(t)
  const { privateKey } = await generateKeyPair('RS256')
  const junk = new SignJWT({ sub: 'user_milo', azp: world.identity.authorizedParty })
    .setProtectedHeader({ alg: 'RS256', kid: 'nobody' })
    .setIssuedAt()
    .setExpirationTime('1m')
  const sent = await junk.sign(privateKey)
  await assert.rejects(identities.verify(sent), refused('unauthenticated', 'invalid'))
  assert.ok(await identities.verify(await sandbox.identityToken('user_milo')))
})

test('with the public key in IDP_JWT_KEY the provider is not asked for keys', async (t) => {
  const first = await setUp(t)
  const jwks = await fetch(`${first.sandbox.identityUrl}/v1/jwks`, {
    headers: { authorization: `Bearer ${first.world.identity.secretKey}` },
  })
  const [jwk] = ((await jwks.json()) as { keys: Record<string, string>[] }).keys
  const IDP_JWT_KEY = await exportSPKI((await importJWK({ ...jwk }, 'RS256')) as never)
  const offline = { ...first.settings, IDP_SECRET_KEY: undefined, IDP_JWT_KEY }
  const identities = createIdentities(offline, () => new Date())
  first.world.faults.identity = 'down'
  const claims = { email: 'milo@example.org', email_verified: true }
  const token = await first.sandbox.identityToken('user_milo', claims)
  assert.equal((await identities.verify(token)).subject, 'user_milo')
  const bare = await first.sandbox.identityToken('user_milo')
  await assert.rejects(identities.verify(bare), refused('unavailable', 'not_set_up'))
})

test('without its settings the answer names them', async (t) => {
  const { sandbox } = await setUp(t)
  const token = await sandbox.identityToken('user_milo')
  for (const [more, named] of [
    [{ IDP_SECRET_KEY: undefined }, /set IDP_SECRET_KEY/],
    [{ IDP_AUTHORIZED_PARTIES: [] }, /set IDP_AUTHORIZED_PARTIES/],
  ] as const) {
    const { identities } = await setUp(t, more)
    await assert.rejects(identities.verify(token), { kind: 'unavailable', message: named })
  }
})
