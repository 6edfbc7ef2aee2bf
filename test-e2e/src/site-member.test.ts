import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { quietLog, TEST_INTERNAL_KEY } from '@guildhall/bus/testing'
import { siteMember, siteMemberOrOfficer } from '@guildhall/contracts/caller'
import { route } from '@guildhall/contracts/route'
import { readConfig } from '@guildhall/gateway/config'
import { start as startGateway } from '@guildhall/gateway/main'
import { accounts, people } from '@guildhall/sandbox/demo'
import { createApp } from '@guildhall/service/app'
import { callerKey } from '@guildhall/service/caller-token'
import { AppError } from '@guildhall/service/errors'
import { cleanUp, until, wholeFile } from '@guildhall/service/testing'
import { z } from 'zod'
import { type Make, mint } from './every-credential.ts'
import { bearer } from './people.ts'
import { type TestStack, testStack } from './stack.ts'
import { type Rule, verdictBy, verdictOf } from './verdicts.ts'

const reply = { 200: z.looseObject({ kind: z.string() }) }
const basket = route({
  method: 'POST',
  url: '/test/:org/basket',
  summary: 'For the members of the site',
  owner: 'ops',
  caller: siteMember,
  reply,
})
const wallet = route({
  method: 'GET',
  url: '/test/:org/wallet/:email',
  summary: "What is the caller's own",
  owner: 'ops',
  caller: siteMember,
  params: z.object({ org: z.string(), email: z.string() }),
  reply,
})
const order = route({
  method: 'GET',
  url: '/test/:org/orders/:id',
  summary: "What is the caller's own, or everything for officers",
  owner: 'ops',
  caller: siteMemberOrOfficer,
  reply,
})
const testRoutes = [basket, wallet, order].map((one) => ({ route: one }))
const rules: Rule[] = [
  { ...basket, caller: 'site-member', scope: '' },
  { ...wallet, caller: 'site-member', scope: '' },
  { ...order, caller: 'site-member-or-officer', scope: '' },
]

type Test = Parameters<typeof testStack>[0]

/** A service that answers who the gateway says is calling. */
async function startEcho(t: Test) {
  const ready = { always: async () => undefined }
  const key = callerKey(TEST_INTERNAL_KEY, 'ops')
  const app = createApp({ service: 'ops', log: quietLog, callerKey: key, ready })
  app.implement(basket, async ({ caller }) => ({ ...caller }))
  app.implement(order, async ({ caller }) => ({ ...caller }))
  app.implement(wallet, async ({ caller, params }) => {
    if (caller.kind === 'identity' && caller.email === params.email) return { ...caller }
    throw new AppError('forbidden', 'identity.other_email', 'This is not your email')
  })
  cleanUp(t, () => app.close())
  return app.listen({ host: '127.0.0.1', port: 0 })
}

let stack: TestStack
let credentials: Record<string, Make>
const gateways = new Map<boolean, string>()
const file = wholeFile()
before(async () => {
  const clock = { ahead: 0 }
  stack = await testStack(file, {}, () => new Date(Date.now() + clock.ahead))
  stack.sandbox.world.chatLimit = { requests: 1_000_000, seconds: 1 }
  const OPS_URL = await startEcho(file)
  for (const enforced of [true, false]) {
    const settings = { ...stack.settings, ACCESS_ENFORCE: String(enforced), OPS_URL }
    const ports = { PORT: '0', ADMIN_PORT: '0', RATE_FAILED_SIGN_INS_PER_MINUTE: '0' }
    const gateway = await startGateway(readConfig({ ...settings, ...ports }), testRoutes)
    cleanUp(file, () => gateway[Symbol.asyncDispose]())
    await until(async () => (await fetch(`${gateway.url}/ready`)).status === 200)
    gateways.set(enforced, gateway.url)
  }
  credentials = await mint(stack, clock)
})

const urlOf = (enforced: boolean, url: string) =>
  gateways.get(enforced) +
  url.replace(':org', 'demo').replace(':email', accounts.member.email).replace(/:\w+/, '7')

/** What the service is told of the caller, or the refusal. */
async function callerBy(path: string, headers: Record<string, string>) {
  const response = await fetch(urlOf(true, path), { headers })
  return [response.status, (await response.json()) as Record<string, unknown>] as const
}

for (const enforced of [true, false]) {
  const mode = enforced ? 'enforce' : 'report'
  for (const rule of rules)
    test(`${mode}: ${rule.url} is for ${rule.caller}`, async () => {
      for (const [credential, make] of Object.entries(credentials)) {
        const got = await verdictBy(urlOf(enforced, rule.url), rule.method, await make(rule))
        assert.equal(got, verdictOf(rule, credential, enforced), `${credential}: ${got}`)
      }
    })
}

test('the service is told by which credential its caller came', async () => {
  const token = await stack.sandbox.identityToken(accounts.member.id)
  const [, site] = await callerBy(order.url, bearer(token))
  const { id: subject, email } = accounts.member
  assert.deepEqual(site, { kind: 'identity', email, subject })
  const officer = bearer((await stack.signIn(people.officer)).access_token)
  const [, own] = await callerBy(order.url, officer)
  assert.deepEqual(
    [own.kind, own.chat_user_id, own.email],
    ['officer', people.officer.id, undefined],
  )
})

test('while the identity provider is away its tokens get 503, and platform tokens go on', async () => {
  const newcomer = { id: 'user_nina', email: 'nina@example.org', verified: true }
  const { world } = stack.sandbox
  world.identity.users.push(newcomer)
  const site = bearer(await stack.sandbox.identityToken(newcomer.id))
  const officer = bearer((await stack.signIn(people.officer)).access_token)
  world.faults.identity = 'down'
  const [status, { code }] = await callerBy(order.url, site)
  const [officers] = await callerBy(order.url, officer)
  assert.deepEqual([status, code, officers], [503, 'identity.unavailable', 200])
  world.faults.identity = undefined
  assert.equal((await callerBy(order.url, site))[0], 200)
})

test('what is far too long for a token is 401', async () => {
  const [status, { code }] = await callerBy(order.url, bearer('a'.repeat(9_000)))
  assert.deepEqual([status, code], [401, 'token.invalid'])
})
