import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs, quietLog, testBroker } from '@guildhall/bus/testing'
import { findSession } from '@guildhall/contracts/accounts'
import { member, memberOrCli } from '@guildhall/contracts/caller'
import { listSources } from '@guildhall/contracts/knowledge'
import { findMembership } from '@guildhall/contracts/members'
import { findOrg } from '@guildhall/contracts/orgs'
import type { Route } from '@guildhall/contracts/route'
import { findMachineToken, MACHINE_TOKEN_PREFIX, whoami } from '@guildhall/contracts/tokens'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { cleanUp } from '@guildhall/service/testing'
import { createAccessChecks } from './access-checks.ts'
import { createAdmit } from './admit.ts'
import { createDirectory } from './directory.ts'
import type { Who } from './limits.ts'
import { createPlatformTokens } from './platform-tokens.ts'
import { watchRevocations } from './revocations.ts'

const orgs = ['home', 'rival'].map((prefix, n) => ({
  id: n + 1,
  prefix,
  name: prefix,
  modules: ['knowledge'],
  publisher: false,
}))

/** A gateway's door on a broker of its own, and the bus on which a test answers as auth. */
async function setUp(t: Parameters<typeof testBroker>[0]) {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  answer(auth, findOrg, async (asked) => ({
    org: orgs.find(({ prefix }) => 'prefix' in asked && asked.prefix === prefix) ?? null,
  }))
  const bus = await busAs(t, { url: nats.url, peer: 'gateway' })
  const ending = new AbortController()
  cleanUp(t, async () => ending.abort())
  const directory = createDirectory(bus)
  const revocations = watchRevocations(bus, ending.signal)
  const admit = createAdmit({
    directory,
    platformTokens: createPlatformTokens(bus, revocations, ending.signal),
    accessChecks: createAccessChecks({ directory, enforce: true, log: quietLog }),
  })
  return { auth, admit }
}

test('a member route is for those on the server of the org in its URL', async (t) => {
  const { auth, admit } = await setUp(t)
  answer(auth, findSession, async ({ value }) => ({
    session: value === 'known' ? { id: newId(), chat_user_id: '12345', username: 'ada' } : null,
  }))
  answer(auth, findMembership, async ({ org_id }) => {
    if (org_id === 2) throw new AppError('unavailable', 'chat.unavailable', 'away')
    const valid_until = new Date(Date.now() + 60_000).toISOString()
    return { member: true, officer: false, name: null, roles: [], valid_until }
  })
  await auth.nats.flush()
  const at = (org: string, asked: object) =>
    admit({
      route: { ...listSources, url: '/api/knowledge/:org/sources', caller: member },
      org,
      authorization: undefined,
      verified: async () => {},
      ...asked,
    })
  const admitted = await at('home', { session: 'known' })
  assert.deepEqual([admitted.caller.kind, admitted.org?.prefix], ['member', 'home'])
  const none = { kind: 'unauthenticated', code: 'session.invalid' }
  await assert.rejects(at('home', {}), none)
  await assert.rejects(at('home', { session: 'unknown' }), none)
  await assert.rejects(at('rival', { session: 'known' }), { code: 'chat.unavailable' })
  const foreign = { session: 'known', foreignOrigin: true }
  await assert.rejects(at('home', foreign), { kind: 'forbidden', code: 'origin.not_allowed' })
})

test('who is not on the server is refused', async (t) => {
  const { auth, admit } = await setUp(t)
  const valid_until = new Date(Date.now() + 60_000).toISOString()
  const session = { id: newId(), chat_user_id: '12345', username: 'ada' }
  answer(auth, findSession, async () => ({ session }))
  answer(auth, findMembership, async () => ({
    member: false,
    officer: false,
    name: null,
    roles: [],
    valid_until,
  }))
  await auth.nats.flush()
  const asked = admit({
    route: { ...listSources, url: '/api/knowledge/:org/sources', caller: member },
    org: 'home',
    authorization: undefined,
    session: 'known',
    verified: async () => {},
  })
  await assert.rejects(asked, { kind: 'forbidden', code: 'access.not_member' })
})

test('a machine token is of no use where the URL names another org', async (t) => {
  const { auth, admit } = await setUp(t)
  const [home = assert.fail()] = orgs
  const token = `${MACHINE_TOKEN_PREFIX}${'a'.repeat(43)}`
  answer(auth, findMachineToken, async ({ sha256 }) => {
    const known = sha256 === hash('sha256', token, 'base64url')
    const found = { id: 'id', kind: 'agent' as const, name: 'agent', expires_at: null, org: home }
    return { token: known ? { ...found, scopes: ['knowledge:read' as const] } : null }
  })
  await auth.nats.flush()
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

test('a CLI token stands for its member, who must be on the server; one that an officer made for none', async (t) => {
  const { auth, admit } = await setUp(t)
  const [home = assert.fail()] = orgs
  const member = { chat_user_id: '12345', username: 'ada' }
  const tokens = {
    good: { scopes: ['compute:connect'], member },
    gone: { scopes: ['compute:connect'], member: { ...member, chat_user_id: '54321' } },
    officers: { scopes: ['compute:connect'], member: null },
    unscoped: { scopes: ['org:read'], member },
  }
  const bearerOf = (name: string) => MACHINE_TOKEN_PREFIX + name.padEnd(43, 'x')
  answer(auth, findMachineToken, async ({ sha256 }) => {
    const [, found] =
      Object.entries(tokens).find(
        ([name]) => hash('sha256', bearerOf(name), 'base64url') === sha256,
      ) ?? []
    const fixed = { id: 'id', kind: 'cli' as const, name: 'CLI', expires_at: null, org: home }
    return { token: found ? { ...fixed, ...found } : null }
  })
  answer(auth, findMembership, async ({ chat_user_id }) => {
    const valid_until = new Date(Date.now() + 60_000).toISOString()
    const found = { officer: false, name: null, roles: [], valid_until }
    return { member: chat_user_id === '12345', ...found }
  })
  await auth.nats.flush()
  const counted: Who[] = []
  const ask = (route: Route, name: string, org?: string) =>
    admit({
      route,
      org,
      authorization: `Bearer ${bearerOf(name)}`,
      verified: async (who) => void counted.push(who),
    })
  const at = (name: string, org = 'home') =>
    ask({ ...listSources, url: '/api/knowledge/:org/sources', caller: memberOrCli }, name, org)
  assert.equal((await ask(whoami, 'good')).caller.kind, 'machine')
  assert.equal((await ask(whoami, 'officers')).caller.kind, 'machine')
  await at('good')
  const itsMember = { kind: 'person', id: member.chat_user_id }
  const byItself = { kind: 'machine', id: 'id' }
  assert.deepEqual(counted, [itsMember, byItself, itsMember], 'whichever route it is seen on')
  assert.deepEqual((await at('good')).caller, { kind: 'cli', ...member, token_id: 'id' })
  await assert.rejects(at('good', 'rival'), { kind: 'forbidden', code: 'token.other_org' })
  await assert.rejects(at('gone'), { kind: 'forbidden', code: 'access.not_member' })
  await assert.rejects(at('officers'), { kind: 'forbidden', code: 'token.no_member' })
  await assert.rejects(at('unscoped'), { kind: 'forbidden', code: 'token.scope_missing' })
  await assert.rejects(at('unknown'), { kind: 'unauthenticated' })
})
