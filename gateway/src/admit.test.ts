import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs, quietLog, testBroker } from '@guildhall/bus/testing'
import { listSources } from '@guildhall/contracts/knowledge'
import { findOrg } from '@guildhall/contracts/orgs'
import { findMachineToken, MACHINE_TOKEN_PREFIX } from '@guildhall/contracts/tokens'
import { createAccessChecks } from './access-checks.ts'
import { createAdmit } from './admit.ts'
import { createDirectory } from './directory.ts'
import { createPlatformTokens } from './platform-tokens.ts'
import { watchRevocations } from './revocations.ts'

test('a machine token is of no use where the URL names another org', async (t) => {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  const orgs = ['home', 'rival'].map((prefix, n) => ({
    id: n + 1,
    prefix,
    name: prefix,
    modules: ['knowledge' as const],
    publisher: false,
  }))
  const [home = assert.fail()] = orgs
  const token = `${MACHINE_TOKEN_PREFIX}${'a'.repeat(43)}`
  answer(auth, findOrg, async (asked) => ({
    org: orgs.find(({ prefix }) => 'prefix' in asked && asked.prefix === prefix) ?? null,
  }))
  answer(auth, findMachineToken, async ({ sha256 }) => {
    const known = sha256 === hash('sha256', token, 'base64url')
    const found = { id: 'id', kind: 'agent' as const, name: 'agent', expires_at: null, org: home }
    return { token: known ? { ...found, scopes: ['knowledge:read' as const] } : null }
  })
  await auth.nats.flush()
  const bus = await busAs(t, { url: nats.url, peer: 'gateway' })
  const ending = new AbortController()
  t.after(() => ending.abort())
  const directory = createDirectory(bus)
  const admit = createAdmit({
    directory,
    platformTokens: createPlatformTokens(bus, watchRevocations(bus, ending.signal)),
    accessChecks: createAccessChecks({ directory, enforce: true, log: quietLog }),
  })
  const at = (org: string) =>
    admit({
      route: { ...listSources, url: '/api/knowledge/:org/sources' },
      org,
      authorization: `Bearer ${token}`,
      verified: async () => {},
    })
  assert.equal((await at('home')).org?.prefix, 'home')
  await assert.rejects(at('rival'), { kind: 'forbidden', code: 'token.other_org' })
  await assert.rejects(at('nobody'), { kind: 'not_found' })
})
