import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { createProviderKeys } from './provider-keys.ts'

async function key(kid: string, alg = 'RS256'): Promise<JWK> {
  const { publicKey } = await generateKeyPair(alg)
  return { ...(await exportJWK(publicKey)), kid, alg }
}

test('a key that has just appeared is found while others ask for invented ones', async () => {
  const [before, appeared] = await Promise.all([key('before'), key('appeared')])
  let asked = 0
  let there = [before]
  const keys = createProviderKeys(async () => {
    asked += 1
    return there
  })
  assert.equal(await keys.find('invented'), undefined)
  there = [before, appeared]
  const crowd = Array.from({ length: 50 }, (_, n) => keys.find(`invented-${n}`))
  assert.match((await keys.find('appeared')) ?? '', /^-----BEGIN PUBLIC KEY-----/)
  assert.deepEqual(new Set(await Promise.all(crowd)), new Set([undefined]))
  assert.ok(await keys.find('before'))
  assert.equal(asked, 2)
})

test('a provider that fails is asked again, and a key of another kind is passed over', async () => {
  const there = [await key('elliptic', 'ES256'), await key('good')]
  let fails = true
  const keys = createProviderKeys(async () => {
    if (fails) throw new Error('away')
    return there
  })
  await assert.rejects(keys.find('good'), /away/)
  fails = false
  assert.ok(await keys.find('good'))
  assert.equal(await keys.find('elliptic'), undefined)
})
