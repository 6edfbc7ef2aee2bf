import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { natsPassword } from '@guildhall/bus/users'
import { linkAccount } from '@guildhall/contracts/accounts'
import { getFeedHistory, putFeed, runFeedNow } from '@guildhall/contracts/alerts'
import { createAppToken } from '@guildhall/contracts/app-tokens'
import { getName, logout, refresh, revoke } from '@guildhall/contracts/auth'
import { putIntegration, testIntegration } from '@guildhall/contracts/integrations'
import { peers, services } from '@guildhall/contracts/names'
import { putSecret } from '@guildhall/contracts/secrets'
import { deleteMachineToken, whoami } from '@guildhall/contracts/tokens'
import { rolePassword } from '@guildhall/db/provision'
import { accounts, demoWorld, people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { leaksIn, openSignIns, type Secrets, watchFetch } from './gather.ts'
import { ended, launch, newHome, ready, serverPids } from './launched.ts'
import {
  bearer,
  browse,
  type Client,
  clientOf,
  cliToken,
  machineTokenOf,
  memberSession,
  orgIdOf,
  signIn,
} from './people.ts'

const RECOVERY_MS = 30_000

/** Sign-ins of everybody, and their ends. */
async function signInFlows(url: string) {
  const first = await signIn(url, people.officer)
  const renewed = await clientOf(url).call(refresh, { body: first })
  assert.ok(renewed.status === 200)
  await clientOf(url, renewed.body.access_token).call(createAppToken, { query: { appname: 'x' } })
  await clientOf(url).call(refresh, { body: renewed.body })
  await clientOf(url).call(refresh, { body: first }) // used again: the family ends
  const second = await signIn(url, people.superadmin)
  await clientOf(url, second.access_token).call(revoke, { body: second })
  await clientOf(url, second.access_token).call(getName, {})
  await cliToken(url, people.member)
  await memberFlow(url)
}

/** As a browser of the members' site, which the sandbox serves. */
async function memberFlow(url: string) {
  const { session, location } = await memberSession(url, people.member)
  const { origin } = new URL(location)
  const answer = await fetch(`${origin}/identity/token?user_id=${accounts.member.id}`)
  const { token: identity_token } = (await answer.json()) as { token: string }
  const headers = { cookie: session, origin, 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal((await post(linkAccount.url, { identity_token })).status, 200)
  await post(logout.url, {})
}

/** What officers keep: secrets, integrations that work and that are refused, machine tokens. */
async function officerFlows(url: string) {
  const { access_token } = await signIn(url, people.officer)
  const officer = clientOf(url, access_token)
  const org_id = String(await orgIdOf(officer))
  for (const [name, value] of Object.entries({
    app_site_key: 'the value of the key of an app',
    error_webhook_url: 'https://hooks.test/secret-path-of-errors',
    alert_webhook_news: 'https://hooks.test/secret-path-of-alerts',
    no_such_name: 'the value of a secret that may not be',
    embeddings_url: 'no URL, and secret all the same',
  }))
    await officer.call(putSecret, { params: { org_id, name }, body: { value } })
  for (const [key, fields] of Object.entries({
    code_host: { github_token: 'github-token-that-is-refused' },
    podhost: { podhost_api_key: 'podhost-key-that-is-refused' },
    notes: { notes_api_key: 'notes-key-that-is-refused' },
    embeddings: {
      embeddings_url: 'https://127.0.0.1:9/v1',
      embeddings_api_key: 'embed-key-secret',
    },
  })) {
    const params = { org: 'demo', key }
    await officer.call(putIntegration, { params, body: { fields } })
    await officer.call(testIntegration, { params })
  }
  const agent = await machineTokenOf(officer, ['knowledge:read', 'knowledge:write'])
  await clientOf(url, agent.token).call(whoami, {})
  await officer.call(deleteMachineToken, { params: { org_id, token_id: agent.id } })
  await clientOf(url, agent.token).call(whoami, {})
  return access_token
}

/** A feed that is refused another webhook, and posts to its own. */
async function feedFlow(officer: Client) {
  const params = { org: 'demo', key: 'demo-internships' }
  const webhook_url = 'https://127.0.0.1:9/api/webhooks/1/secret-path-of-no-webhook'
  assert.equal((await officer.call(putFeed, { params, body: { webhook_url } })).status, 400)
  await officer.call(runFeedNow, { params, body: { post_existing: true } })
  await until(async () => {
    const reply = await officer.call(getFeedHistory, { params })
    return reply.status === 200 && reply.body.runs[0]?.posted
  }, RECOVERY_MS)
}

/** What goes wrong with a credential at hand. */
async function failingFlows(url: string, token: string) {
  const { back, cookie } = await browse(url, people.stranger)
  await fetch(back, { redirect: 'manual', headers: { cookie } }) // the code is used
  await fetch(back, { redirect: 'manual' }) // and of no browser
  const json = { 'content-type': 'application/json' }
  const code = 'a-one-time-code-nobody-issued'
  for (const body of [JSON.stringify({ code }), `{"code":"${code}"`, `"${token}"`, '[]'])
    await fetch(`${url}/api/auth/exchange`, { method: 'POST', headers: json, body })
  const headers = { ...json, ...bearer(token) }
  for (const path of [`/api/auth/name?code=${code}`, `/api/${token}`, `/api/auth/callback?${code}`])
    await fetch(url + path, { headers, redirect: 'manual' })
  for (const wrong of [`${token}x`, `Basic ${token}`, token.split('.')[1] ?? '', `plat_${code}`])
    await fetch(`${url}/api/organizations`, { headers: bearer(wrong) })
}

/** Everything with the servers killed under it, until all goes well again. */
async function outage(url: string, pid: number, token: string) {
  process.kill(pid, 'SIGKILL')
  const flow = () => Promise.allSettled([signInFlows(url), officerFlows(url)])
  await flow()
  await failingFlows(url, token).catch(() => undefined)
  await until(async () => {
    const done = await flow()
    return done.every(({ status }) => status === 'fulfilled')
  }, RECOVERY_MS)
}

/** What an installation holds itself, and what the sandbox's services are asked with. */
async function installed(home: string): Promise<Secrets> {
  const keyOf = async (name: string) => (await readFile(join(home, 'keys', name), 'utf8')).trim()
  const names = ['secret_key', 'secrets_key', 'internal_key', 'postgres_password']
  const keys = await Promise.all(names.map(async (name) => [await keyOf(name), name] as const))
  const internal = await keyOf('internal_key')
  const world = demoWorld(await keyOf('secret_key'))
  const { application, identity, keys: outside, webhooks = [] } = world
  return new Map([
    ...keys,
    ...services.map((one) => [rolePassword(internal, one), `${one}'s database`] as const),
    ...peers.map((one) => [natsPassword(internal, one), `${one}'s NATS password`] as const),
    [application.clientSecret, 'client secret'],
    [application.botToken, 'bot token'],
    [identity.secretKey, 'key of the identity provider'],
    ...webhooks.map(({ token }) => [token, 'webhook of a channel'] as const),
    ...Object.entries(outside).map(([name, key]) => [key, `key of ${name}`] as const),
  ])
}

test('no credential, key or secret reaches the output of a whole stack, whatever goes wrong', async (t) => {
  using watched = watchFetch()
  const home = await newHome(t)
  const stack = await launch(t, home, { LOG_LEVEL: 'debug', RATE_FAILED_SIGN_INS_PER_MINUTE: '0' })
  const url = await ready(stack)
  await signInFlows(url)
  const token = await officerFlows(url)
  await feedFlow(clientOf(url, token))
  await failingFlows(url, token)
  for (const pid of await serverPids(home)) await outage(url, pid, token)
  stack.process.kill('SIGINT')
  assert.equal(await ended(stack.process), 0)

  const own = await installed(home)
  const sealed = await openSignIns(watched.secrets, await keyOfCookies(home))
  const secrets = new Map([...watched.secrets, ...own, ...sealed])
  const kinds = [...secrets.values()]
  for (const kind of ['cookie', 'PKCE verifier', 'state', 'bot token'])
    assert.ok(kinds.includes(kind), `nothing was gathered: ${kind}`)
  assert.match(stack.output(), /POST \/api\/auth\/exchange/, 'requests are logged')
  assert.deepEqual(leaksIn(stack.output(), secrets), [])
})

const keyOfCookies = async (home: string) =>
  (await readFile(join(home, 'keys', 'secret_key'), 'utf8')).trim()
