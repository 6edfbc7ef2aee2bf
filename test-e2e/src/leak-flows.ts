import assert from 'node:assert/strict'
import { linkAccount } from '@guildhall/contracts/accounts'
import { createAppToken } from '@guildhall/contracts/app-tokens'
import { getName, logout, refresh, revoke } from '@guildhall/contracts/auth'
import { putIntegration, testIntegration } from '@guildhall/contracts/integrations'
import { putSecret } from '@guildhall/contracts/secrets'
import { deleteMachineToken, whoami } from '@guildhall/contracts/tokens'
import { accounts, people, servers } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { openSignIns, type Secrets } from './gather.ts'
import { installed, installedKey, sealedIn } from './gather-installed.ts'
import {
  bearer,
  browse,
  clientOf,
  cliToken,
  machineTokenOf,
  memberSession,
  orgIdOf,
  signIn,
} from './people.ts'

export const RECOVERY_MS = 30_000
const JSON_TYPE = { 'content-type': 'application/json' }

/** Sign-ins of everybody, and their ends. */
export async function signInFlows(url: string) {
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
  const headers = { cookie: session, origin, ...JSON_TYPE }
  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal((await post(linkAccount.url, { identity_token })).status, 200)
  await post(logout.url, {})
  await commandFlow(origin)
}

/** As members who type a command: what the bot answers with is theirs who have the interaction's token. */
async function commandFlow(sandbox: string) {
  for (const { id: userId } of [people.member, people.stranger]) {
    const body = JSON.stringify({ guildId: servers.demo.id, userId, name: 'points' })
    const type = () =>
      fetch(`${sandbox}/chat/commands`, { method: 'POST', headers: JSON_TYPE, body })
    await until(async () => (await type()).status === 200, RECOVERY_MS)
  }
}

/** What officers keep: secrets, integrations that work and that are refused, machine tokens. */
export async function officerFlows(url: string) {
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

/** What goes wrong with a credential at hand. */
export async function failingFlows(url: string, token: string) {
  const { back, cookie } = await browse(url, people.stranger)
  await fetch(back, { redirect: 'manual', headers: { cookie } }) // the code is used
  await fetch(back, { redirect: 'manual' }) // and of no browser
  const code = 'a-one-time-code-nobody-issued'
  for (const body of [JSON.stringify({ code }), `{"code":"${code}"`, `"${token}"`, '[]'])
    await fetch(`${url}/api/auth/exchange`, { method: 'POST', headers: JSON_TYPE, body })
  const headers = { ...JSON_TYPE, ...bearer(token) }
  for (const path of [`/api/auth/name?code=${code}`, `/api/${token}`, `/api/auth/callback?${code}`])
    await fetch(url + path, { headers, redirect: 'manual' })
  for (const wrong of [`${token}x`, `Basic ${token}`, token.split('.')[1] ?? '', `plat_${code}`])
    await fetch(`${url}/api/organizations`, { headers: bearer(wrong) })
}

/** Everything with the servers killed under it, until all goes well again. */
export async function outage(url: string, pid: number, token: string) {
  process.kill(pid, 'SIGKILL')
  const flow = () => Promise.allSettled([signInFlows(url), officerFlows(url)])
  await flow()
  await failingFlows(url, token).catch(() => undefined)
  await until(async () => {
    const done = await flow()
    return done.every(({ status }) => status === 'fulfilled')
  }, RECOVERY_MS)
}

/** Every secret that the flows used or made. */
export async function gathered(home: string, watched: Secrets): Promise<Secrets> {
  const cookies = await openSignIns(watched, await installedKey(home, 'secret_key'))
  const secrets = new Map([
    ...watched,
    ...(await installed(home)),
    ...(await sealedIn(home)),
    ...cookies,
  ])
  const kinds = [...secrets.values()]
  const least = ['cookie', 'PKCE verifier', 'state', 'bot token', 'secret google_service_account']
  const more = ['secret error_webhook_url', 'key of access tokens', 'own key of bot']
  for (const kind of [...least, ...more])
    assert.ok(kinds.includes(kind), `nothing was gathered: ${kind}`)
  const typed = kinds.some((kind) => /^the answer of POST .*\/chat\/commands$/.test(kind))
  assert.ok(typed, 'the token of no interaction was gathered')
  return secrets
}
