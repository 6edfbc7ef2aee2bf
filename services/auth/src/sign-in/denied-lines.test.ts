import assert from 'node:assert/strict'
import { test } from 'node:test'
import { busAs, quietLog, TEST_INTERNAL_KEY } from '@guildhall/bus/testing'
import { chatCallback, chatLogin } from '@guildhall/contracts/accounts'
import { login, loginCallback } from '@guildhall/contracts/auth'
import { createSealer } from '@guildhall/outbound/sealed'
import { people } from '@guildhall/sandbox/demo'
import { CALLER_HEADER, callerKey, signIdentity } from '@guildhall/service/caller-token'
import { createLog } from '@guildhall/service/log'
import { cleanUp } from '@guildhall/service/testing'
import { createAccess } from '../access/decide.ts'
import { buildApp } from '../app.ts'
import { createChat } from '../clients/chat.ts'
import { createGuildLists } from '../clients/guild-lists.ts'
import { createIdentities } from '../clients/identity.ts'
import { readConfig } from '../config.ts'
import { testAuth } from '../testing.ts'
import { openSigner } from '../token-pairs/signer.ts'

const key = callerKey(TEST_INTERNAL_KEY, 'auth')

/** The app of auth with a log that a test can read. */
async function logged(t: Parameters<typeof testAuth>[0]) {
  const { db, settings } = await testAuth(t)
  const config = readConfig(settings)
  const lines: string[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line).msg) }
  const log = createLog('auth', { format: 'json', to })
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'auth' })
  const now = () => new Date()
  const client = createChat(config)
  const chat = { ...client, ...createGuildLists(client) }
  const access = createAccess({ chat, superadmins: [], now })
  const signer = await openSigner(
    db,
    createSealer(config.SECRET_KEY, 'auth.signing_keys'),
    quietLog,
  )
  const identities = createIdentities(config, now)
  const deps = { db, bus, log, config, chat, access, identities, signer, now }
  const app = buildApp({ service: 'auth', log, callerKey: key, ready: {} }, deps)
  cleanUp(t, () => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  lines.length = 0
  return { url, lines }
}

async function visit(url: string, path: string, cookie = '') {
  const target = { service: 'auth' as const, method: 'GET', path }
  const identity = { caller: { kind: 'public' as const }, org: undefined, request_id: 'test' }
  const signed = signIdentity(identity, target, key)
  return fetch(url + path, { redirect: 'manual', headers: { cookie, [CALLER_HEADER]: signed } })
}

/** Signs a person in, who agrees on the chat platform's page. */
async function signIn(url: string, { id: user_id }: { id: string }) {
  const begun = await visit(url, login.url)
  const cookie = String(begun.headers.get('set-cookie')).split(';')[0]
  const page = new URL(begun.headers.get('location') ?? '')
  const body = new URLSearchParams({ ...Object.fromEntries(page.searchParams), user_id })
  const agreed = await fetch(page, { method: 'POST', redirect: 'manual', body })
  const back = new URL(agreed.headers.get('location') ?? '')
  return visit(url, back.pathname + back.search, cookie)
}

test('a state that is not of this browser is one line, of officers and of members', async (t) => {
  const { url, lines } = await logged(t)
  for (const { begin, callback } of [
    { begin: login, callback: loginCallback },
    { begin: chatLogin, callback: chatCallback },
  ]) {
    lines.length = 0
    const begun = await visit(url, begin.url)
    const cookie = String(begun.headers.get('set-cookie')).split(';')[0]
    const answer = await visit(url, `${callback.url}?code=x&state=other`, cookie)
    assert.equal(answer.status, 302)
    assert.deepEqual(lines, [
      `access decision=deny reason=oauth_state_mismatch route=GET ${callback.url} org=- credential=none`,
    ])
  }
})

test('somebody who is officer of no org is one line with their chat user id', async (t) => {
  const { url, lines } = await logged(t)
  assert.equal((await signIn(url, people.member)).status, 302)
  assert.deepEqual(lines, [
    `access decision=deny reason=not_officer route=GET /api/auth/callback org=- credential=chat:${people.member.id}`,
  ])
})
