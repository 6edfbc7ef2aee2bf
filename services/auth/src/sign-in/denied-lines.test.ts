import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatCallback, chatLogin } from '@guildhall/contracts/accounts'
import { login, loginCallback } from '@guildhall/contracts/auth'
import { cliCallback, cliLogin } from '@guildhall/contracts/cli-tokens'
import { people } from '@guildhall/sandbox/demo'
import { type LoggedAuth, loggedAuth } from '../testing-app.ts'

/** Signs a person in, who agrees on the chat platform's page. */
async function signIn(
  { visit }: LoggedAuth,
  { id: user_id }: { id: string },
  begin: string = login.url,
) {
  const begun = await visit(begin)
  const cookie = String(begun.headers.get('set-cookie')).split(';')[0]
  const page = new URL(begun.headers.get('location') ?? '')
  const body = new URLSearchParams({ ...Object.fromEntries(page.searchParams), user_id })
  const agreed = await fetch(page, { method: 'POST', redirect: 'manual', body })
  const back = new URL(agreed.headers.get('location') ?? '')
  return visit(back.pathname + back.search, cookie)
}

test('a state that is not of this browser is one line, of officers, members and CLIs', async (t) => {
  const { visit, lines } = await loggedAuth(t)
  for (const { begin, callback, status } of [
    { begin: login.url, callback: loginCallback, status: 302 },
    { begin: chatLogin.url, callback: chatCallback, status: 302 },
    { begin: cliLogin.url.replace(':org', 'demo'), callback: cliCallback, status: 400 },
  ]) {
    lines.length = 0
    const begun = await visit(begin)
    const cookie = String(begun.headers.get('set-cookie')).split(';')[0]
    const answer = await visit(`${callback.url}?code=x&state=other`, cookie)
    assert.equal(answer.status, status)
    assert.deepEqual(lines, [
      `access decision=deny reason=oauth_state_mismatch route=GET ${callback.url} org=- credential=none`,
    ])
  }
})

test('somebody who is officer of no org is one line with their chat user id', async (t) => {
  const auth = await loggedAuth(t)
  assert.equal((await signIn(auth, people.member)).status, 302)
  assert.deepEqual(auth.lines, [
    `access decision=deny reason=not_officer route=GET /api/auth/callback org=- credential=chat:${people.member.id}`,
  ])
})

test('somebody who is no member and signs a CLI in is one line with the org', async (t) => {
  const auth = await loggedAuth(t)
  const begin = cliLogin.url.replace(':org', 'demo')
  assert.equal((await signIn(auth, people.stranger, begin)).status, 403)
  assert.deepEqual(auth.lines, [
    `access decision=deny reason=not_member route=GET ${cliCallback.url} org=demo credential=chat:${people.stranger.id}`,
  ])
})
