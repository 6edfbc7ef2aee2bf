import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { TEST_INTERNAL_KEY, testEnvironment } from '@guildhall/bus/testing'
import { exchange } from '@guildhall/contracts/auth'
import { createClient } from '@guildhall/contracts/client'
import { listOrgs } from '@guildhall/contracts/orgs'
import { createMachineToken, type Scope } from '@guildhall/contracts/tokens'
import { testDatabase } from '@guildhall/db/testing'
import { startStack } from '@guildhall/scripts/stack'
import type { Env } from '@guildhall/service/config'
import { cleanUp } from '@guildhall/service/testing'

export type TestStack = Awaited<ReturnType<typeof testStack>>
export type Client = ReturnType<typeof createClient>

/** A whole stack in a folder of its own: every service and the gateway, over HTTP alone. */
export async function testStack(t: Pick<TestContext, 'after'>, env: Env = {}, now?: () => Date) {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-test-e2e-'))
  cleanUp(t, () => rm(home, { recursive: true, force: true }))
  const DATABASE_URL = await testDatabase(t)
  const base = { PORT: '0', LOG_LEVEL: 'fatal', DATABASE_URL, INTERNAL_KEY: TEST_INTERNAL_KEY }
  const stack = await startStack({
    home,
    env: { ...(await testEnvironment()), ...base, ...env },
    ...(now && { now }),
  })
  cleanUp(t, () => stack[Symbol.asyncDispose]())
  const { url, sandbox } = stack
  if (!sandbox) throw new Error('A test stack has the sandbox')

  /** A typed client with this bearer token, or with none. */
  const as = (token?: string): Client =>
    createClient((path, init) =>
      fetch(url + path, { ...init, headers: { ...init.headers, ...bearer(token) } }),
    )

  /** Signs in through the chat platform's page, as a browser would; answers the token pair. */
  async function signIn(person: { id: string }) {
    const { location } = await browse(url, person)
    const code = new URL(location).searchParams.get('code')
    assert.ok(code, `no code in ${location}`)
    const reply = await as().call(exchange, { body: { code } })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body
  }

  /** The id of the org that this person may act on, by its prefix. */
  async function orgId(token: string, prefix = 'demo') {
    const reply = await as(token).call(listOrgs, {})
    assert.ok(reply.status === 200)
    const org = reply.body.organizations.find((one) => one.prefix === prefix)
    assert.ok(org, `no org ${prefix}`)
    return org.id
  }

  /** A machine token of the org with these scopes. */
  async function machineToken(officerToken: string, scopes: Scope[], prefix = 'demo') {
    const org_id = String(await orgId(officerToken, prefix))
    const body = { name: 'test agent', kind: 'agent' as const, scopes }
    const reply = await as(officerToken).call(createMachineToken, { params: { org_id }, body })
    assert.ok(reply.status === 201, JSON.stringify(reply.body))
    return reply.body
  }
  return { ...stack, sandbox, url, as, signIn, orgId, machineToken }
}

export const bearer = (token?: string): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }

/** Walks through the sign-in by hand, redirect by redirect, and answers where it ends. */
export async function browse(url: string, person: { id: string }) {
  const login = await fetch(`${url}/api/auth/login`, { redirect: 'manual' })
  const cookie = login.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const page = login.headers.get('location') ?? ''
  assert.equal((await fetch(page)).status, 200)
  const consent = await fetch(page, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({
      ...Object.fromEntries(new URL(page).searchParams),
      user_id: person.id,
    }),
  })
  const back = consent.headers.get('location') ?? ''
  const callback = await fetch(back, { redirect: 'manual', headers: { cookie } })
  return { location: callback.headers.get('location') ?? '', callback, back, cookie }
}
