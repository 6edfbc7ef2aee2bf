import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { addOrg } from '@guildhall/contracts/superadmin'
import { accounts, people, servers } from '@guildhall/sandbox/demo'
import { wholeFile } from '@guildhall/service/testing'
import { type Make, mint } from './every-credential.ts'
import { type TestStack, testStack } from './stack.ts'
import { nameOf, rules, verdictBy, verdictOf } from './verdicts.ts'

/** In report mode, which lets officers of other orgs through: they, and one of each other refusal. */
const REPORTED = [
  'none',
  'officer elsewhere',
  'app token of the superadmin',
  'expired platform token',
  'machine token of another scope',
  'session of a non-member',
  'identity token of another email',
  'superadmin',
]

/** Tries every route with every kind of credential; with ACCESS_ENFORCE off with those for whom that might matter. */
export function tryEveryRoute(enforced: boolean) {
  let stack: TestStack
  let credentials: Record<string, Make>
  let paths: (url: string) => string
  const file = wholeFile()
  before(async () => {
    const clock = { ahead: 0 }
    const settings = {
      ACCESS_ENFORCE: String(enforced),
      RATE_ADDRESS_PER_MINUTE: '0',
      RATE_FAILED_SIGN_INS_PER_MINUTE: '0',
    }
    stack = await testStack(file, settings, () => new Date(Date.now() + clock.ahead))
    stack.sandbox.world.chatLimit = { requests: 1_000_000, seconds: 1 }
    credentials = await mint(stack, clock)
    for (const one of REPORTED) assert.ok(one in credentials, one)
    const { access_token } = await stack.signIn(people.officer)
    const [org, spare] = [await stack.orgId(access_token), await spareOrg(stack)]
    paths = (url) =>
      url
        .replace(':org_id', String(url.startsWith('/api/superadmin') ? spare : org))
        .replace(':guild_id', servers.demo.id)
        .replace(':org', 'demo')
        .replace(':email', accounts.member.email)
        .replace(/[:*]\w+/g, '01890000-0000-7000-8000-000000000000')
  })

  for (const rule of rules) {
    test(`${nameOf(rule)} is for ${rule.caller} ${rule.scope}`, async () => {
      for (const [credential, make] of Object.entries(credentials)) {
        if (!enforced && !REPORTED.includes(credential)) continue
        const got = await verdictBy(stack.url + paths(rule.url), rule.method, await make(rule))
        assert.equal(got, verdictOf(rule, credential, enforced), `${credential}: ${got}`)
      }
    })
  }
}

/** An org that the superadmin's routes may be tried on. */
async function spareOrg({ as, signIn, sandbox }: TestStack) {
  const chat_server_id = '284402700000000088'
  const [guild = assert.fail()] = sandbox.world.guilds
  sandbox.world.guilds.push({ ...guild, id: chat_server_id, roles: [] })
  const superadmin = as((await signIn(people.superadmin)).access_token)
  const body = { chat_server_id, name: 'Spare', prefix: 'spare' }
  const made = await superadmin.call(addOrg, { body })
  assert.ok(made.status === 201, JSON.stringify(made.body))
  return made.body.id
}
