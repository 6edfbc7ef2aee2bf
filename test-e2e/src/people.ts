import assert from 'node:assert/strict'
import { chatLogin, SESSION_COOKIE } from '@guildhall/contracts/accounts'
import { exchange } from '@guildhall/contracts/auth'
import { cliLogin } from '@guildhall/contracts/cli-tokens'
import { createClient, pathOf } from '@guildhall/contracts/client'
import { listOrgs } from '@guildhall/contracts/orgs'
import { createMachineToken, type MachineToken, type Scope } from '@guildhall/contracts/tokens'

export type Client = ReturnType<typeof createClient>

export const bearer = (token?: string): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }

/** A typed client of the gateway at `url` with this bearer token, or with none. */
export const clientOf = (url: string, token?: string): Client =>
  createClient((path, init) =>
    fetch(url + path, { ...init, headers: { ...init.headers, ...bearer(token) } }),
  )

/** The name=value of each cookie that an answer sets. */
const cookiesOf = ({ headers }: Response) =>
  headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')

/** Walks through a sign-in as a browser that `had` cookies does, redirect by redirect, and answers where it ends. */
export async function browse(
  url: string,
  person: { id: string },
  { path = '/api/auth/login', had = '' } = {},
) {
  const login = await fetch(url + path, { redirect: 'manual' })
  const cookie = cookiesOf(login)
  const page = login.headers.get('location') ?? ''
  assert.equal((await fetch(page)).status, 200)
  const form = { ...Object.fromEntries(new URL(page).searchParams), user_id: person.id }
  const consent = await fetch(page, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams(form),
  })
  const back = consent.headers.get('location') ?? ''
  const callback = await fetch(back, {
    redirect: 'manual',
    headers: { cookie: had ? `${cookie}; ${had}` : cookie },
  })
  return { location: callback.headers.get('location') ?? '', callback, back, cookie }
}

/** Signs a member in through the chat platform's page and answers their session cookie. */
export async function memberSession(
  url: string,
  person: { id: string },
  { next, had }: { next?: string; had?: string } = {},
) {
  const query = next === undefined ? '' : `?${new URLSearchParams({ next })}`
  const path = `${chatLogin.url}${query}`
  const { callback, location } = await browse(url, person, { path, ...(had && { had }) })
  const session = cookiesOf(callback)
    .split('; ')
    .find((pair) => pair.startsWith(`${SESSION_COOKIE}=`))
  assert.ok(session, `no session at ${location}`)
  return { session, location, callback }
}

/** Signs a member's CLI in through the chat platform's page, and answers the token that the last page shows. */
export async function cliToken(url: string, person: { id: string }, org = 'demo') {
  const { callback } = await browse(url, person, { path: pathOf(cliLogin, { params: { org } }) })
  const page = await callback.text()
  const token = /<code id="token">(plat_[\w-]{43})</.exec(page)?.[1]
  assert.ok(token, page)
  return token
}

/** Signs in through the chat platform's page and answers the token pair. */
export async function signIn(url: string, person: { id: string }) {
  const { location } = await browse(url, person)
  const code = new URL(location).searchParams.get('code')
  assert.ok(code, `no code in ${location}`)
  const reply = await clientOf(url).call(exchange, { body: { code } })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

/** The id of the org that this person may act on, by its prefix. */
export async function orgIdOf(client: Client, prefix = 'demo') {
  const reply = await client.call(listOrgs, {})
  assert.ok(reply.status === 200)
  const org = reply.body.organizations.find((one) => one.prefix === prefix)
  assert.ok(org, `no org ${prefix}`)
  return org.id
}

/** A machine token of the officer's org with these scopes. */
export async function machineTokenOf(
  officer: Client,
  scopes: Scope[],
  prefix?: string,
  kind: MachineToken['kind'] = 'agent',
) {
  const org_id = String(await orgIdOf(officer, prefix))
  const body = { name: 'test agent', kind, scopes }
  const reply = await officer.call(createMachineToken, { params: { org_id }, body })
  assert.ok(reply.status === 201, JSON.stringify(reply.body))
  return reply.body
}

/** The officer's client and that of an agent who may read and write knowledge. */
export async function clients(url: string, officerToken: string) {
  const officer = clientOf(url, officerToken)
  const { token } = await machineTokenOf(officer, ['knowledge:read', 'knowledge:write'])
  return { officer, agent: clientOf(url, token) }
}
