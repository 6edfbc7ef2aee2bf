import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import { REST } from '@discordjs/rest'
import { wholeFile } from '@guildhall/service/testing'
import { Routes } from 'discord-api-types/v10'
import { people, servers } from '../demo.ts'
import { REDIRECT_URI, testSandbox } from '../testing.ts'
import { CODE_MS, TOKEN_SECONDS } from './grants.ts'

type Sandbox = Awaited<ReturnType<typeof testSandbox>>
type Params = Record<string, string | undefined>

const VERIFIER = 'a-verifier-of-at-least-forty-three-characters-0123'
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

let sandbox: Sandbox
const file = wholeFile()
before(async () => {
  sandbox = await testSandbox(file)
})

/** The parameters of a sign-in; undefined leaves one out. */
const asked = (changes: Params = {}) =>
  given({
    client_id: sandbox.world.application.clientId,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'identify guilds',
    state: 'a state & more',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    ...changes,
  })

const given = (params: Params) =>
  new URLSearchParams(
    Object.entries(params).filter((one): one is [string, string] => one[1] !== undefined),
  )

const open = (changes?: Params) => fetch(`${sandbox.chatAuthorizeUrl}?${asked(changes)}`)

/** Presses the button of the page that carries this label, as a browser would. */
async function press(label: string, changes: Params = {}) {
  const html = await (await open(changes)).text()
  const form = new URLSearchParams()
  for (const [, name = '', value = ''] of html.matchAll(
    /<input type="hidden" name="(.+?)" value="(.*?)">/g,
  ))
    form.set(name, plain(value))
  const [, user] = html.match(new RegExp(`value="([^"]*)">${label}`)) ?? []
  assert.ok(user !== undefined, `no button ${label}`)
  form.set('user_id', user)
  const [, action = ''] = html.match(/action="(.+?)"/) ?? []
  return fetch(sandbox.url + action, { method: 'POST', body: form, redirect: 'manual' })
}

const plain = (text: string) =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

const backAt = (reply: Response) => new URL(reply.headers.get('location') ?? '')

async function newCode(changes?: Params) {
  return String(backAt(await press('Sign in as Olivia', changes)).searchParams.get('code'))
}

async function exchange(fields: Params, headers: Record<string, string> = {}) {
  const { clientId: client_id, clientSecret: client_secret } = sandbox.world.application
  const body = given({
    client_id,
    client_secret,
    grant_type: 'authorization_code',
    redirect_uri: REDIRECT_URI,
    code_verifier: VERIFIER,
    ...fields,
  })
  const reply = await fetch(`${sandbox.chatApiUrl}/v10/oauth2/token`, {
    method: 'POST',
    body,
    headers,
  })
  return { status: reply.status, body: (await reply.json()) as Record<string, string> }
}

const tokenOf = async (scope: string) =>
  String((await exchange({ code: await newCode({ scope }) })).body.access_token)

const askAs = (token: string, path: string) =>
  fetch(`${sandbox.chatApiUrl}/v10${path}`, { headers: { authorization: `Bearer ${token}` } })

test('the page offers each person by a button and no bot', async () => {
  const reply = await open()
  assert.equal(reply.status, 200)
  assert.match(reply.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  const html = await reply.text()
  assert.match(html, />Sign in as Olivia \(officer of Demo Club\)<\/button>/)
  assert.match(html, />Cancel<\/button>/)
  assert.match(html, /<html lang="en">/)
  assert.equal([...html.matchAll(/<button/g)].length, Object.keys(people).length + 1)
  assert.doesNotMatch(html, /<script|Guildhall/)
})

test('what comes from the address bar and from the world is escaped', async (t) => {
  const mallory = { id: '9', username: 'm', name: '<img src=x>', about: '"onload' }
  const { world, chatAuthorizeUrl } = await testSandbox(t)
  world.users.push(mallory)
  const html = await (
    await fetch(`${chatAuthorizeUrl}?${asked({ state: `"><script>alert(1)</script>'` })}`)
  ).text()
  assert.doesNotMatch(html, /<script|<img/)
  assert.match(html, /&lt;img src=x&gt; \(&quot;onload\)/)
})

test('a person who agrees is sent back with a code and the state as it was', async () => {
  const reply = await press('Sign in as Olivia')
  assert.equal(reply.status, 302)
  const back = backAt(reply)
  assert.equal(back.origin + back.pathname, REDIRECT_URI)
  assert.deepEqual([...back.searchParams.keys()], ['code', 'state'])
  assert.equal(back.searchParams.get('state'), 'a state & more')
})

test('a person who cancels is sent back with access_denied', async () => {
  const { searchParams } = backAt(await press('Cancel'))
  assert.equal(searchParams.get('error'), 'access_denied')
  assert.equal(searchParams.get('state'), 'a state & more')
  assert.equal(searchParams.has('code'), false)
})

test('a sign-in that is not right stays on the page and says why', async () => {
  const cases: [Params, RegExp][] = [
    [{ client_id: '1' }, /Unknown Application/],
    [{ redirect_uri: 'http://evil.test/' }, /Invalid OAuth2 redirect_uri/],
    [{ redirect_uri: `${REDIRECT_URI}/more` }, /Invalid OAuth2 redirect_uri/],
    [{ client_id: undefined }, /client_id is missing/],
    [{ redirect_uri: undefined }, /redirect_uri is missing/],
    [{ scope: undefined }, /scope is missing/],
    [{ scope: 'identify everything' }, /scope: the sandbox knows/],
    [{ response_type: 'token' }, /response_type must be code/],
    [{ code_challenge_method: 'plain' }, /code_challenge_method must be S256/],
    [{ code_challenge_method: undefined }, /go together/],
  ]
  for (const [changes, message] of cases) {
    const reply = await open(changes)
    assert.equal(reply.status, 400, JSON.stringify(changes))
    assert.match(await reply.text(), message)
  }
})

test('nobody who is not in the world, and no bot, gets a code', async () => {
  for (const user_id of ['1', sandbox.world.application.botId, undefined]) {
    const reply = await fetch(sandbox.chatAuthorizeUrl, {
      method: 'POST',
      redirect: 'manual',
      body: given({ ...Object.fromEntries(asked()), user_id }),
    })
    assert.equal(reply.status, 400)
  }
})

test('the official client exchanges a code and reads who signed in and their servers', async () => {
  const rest = new REST({ api: sandbox.chatApiUrl, version: '10', authPrefix: 'Bearer' })
  const { clientId, clientSecret } = sandbox.world.application
  const made = (await rest.post(Routes.oauth2TokenExchange(), {
    body: new URLSearchParams({
      client_id: clientId,
      client_secret: clientSecret,
      grant_type: 'authorization_code',
      code: await newCode(),
      redirect_uri: REDIRECT_URI,
      code_verifier: VERIFIER,
    }),
    passThroughBody: true,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    auth: false,
  })) as Record<string, unknown>
  assert.deepEqual(
    { ...made, access_token: '', refresh_token: '' },
    {
      token_type: 'Bearer',
      access_token: '',
      expires_in: TOKEN_SECONDS,
      refresh_token: '',
      scope: 'identify guilds',
    },
  )
  rest.setToken(String(made.access_token))
  const me = (await rest.get(Routes.user())) as { id: string; global_name: string }
  assert.deepEqual([me.id, me.global_name], [people.officer.id, 'Olivia'])
  const guilds = (await rest.get(Routes.userGuilds())) as { id: string; owner: boolean }[]
  assert.deepEqual(
    guilds.map(({ id, owner }) => [id, owner]),
    [[servers.demo.id, true]],
  )
})

test('of ten exchanges of one code at once one succeeds', async () => {
  const code = await newCode()
  const replies = await Promise.all(Array.from({ length: 10 }, () => exchange({ code })))
  assert.equal(replies.filter(({ status }) => status === 200).length, 1)
})

test('a code that does not fit is refused in the words of Discord', async () => {
  const json = { 'content-type': 'application/json' }
  const code = (error_description: string, error = 'invalid_grant') => ({
    error,
    error_description,
  })
  const cases: [Params, number, object, Record<string, string>?][] = [
    [{ code: 'unknown' }, 400, code('Invalid "code" in request.')],
    [{ code_verifier: 'wrong' }, 400, code('Invalid "code_verifier" in request.')],
    [{ code_verifier: undefined }, 400, code('Missing "code_verifier"', 'invalid_request')],
    [
      { redirect_uri: 'http://x.test/' },
      400,
      code('Invalid "redirect_uri" in request.', 'invalid_request'),
    ],
    [
      { redirect_uri: undefined },
      400,
      code('Missing "redirect_uri" in request.', 'invalid_request'),
    ],
    [{ client_secret: 'wrong' }, 401, { error: 'invalid_client' }],
    [{ client_id: undefined }, 401, { error: 'invalid_client' }],
    [
      { grant_type: 'password' },
      400,
      code('Grant type password is not supported', 'unsupported_grant_type'),
    ],
    [{}, 400, { message: '400: Bad Request', code: 0 }, json],
  ]
  for (const [changes, status, body, headers] of cases) {
    const reply = await exchange({ code: await newCode(), ...changes }, headers)
    assert.deepEqual([reply.status, reply.body], [status, body], JSON.stringify(changes))
  }
})

test('a code counts ten minutes and a token its seven days', async (t) => {
  t.after(() => {
    sandbox.clock.ahead = 0
  })
  const [early, late, token] = [await newCode(), await newCode(), await tokenOf('identify')]
  sandbox.clock.ahead = CODE_MS - 10_000
  assert.equal((await exchange({ code: early })).status, 200)
  sandbox.clock.ahead = CODE_MS + 1
  assert.equal((await exchange({ code: late })).body.error, 'invalid_grant')
  assert.equal((await askAs(token, '/users/@me')).status, 200)
  sandbox.clock.ahead = TOKEN_SECONDS * 1000 + 1
  assert.equal((await askAs(token, '/users/@me')).status, 401)
})

test('an application may send its credentials in a Basic header, and sign in without PKCE', async () => {
  const { clientId, clientSecret } = sandbox.world.application
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  const code = await newCode({ code_challenge: undefined, code_challenge_method: undefined })
  const bare = { code, client_id: undefined, client_secret: undefined, code_verifier: undefined }
  assert.equal((await exchange(bare, { authorization })).status, 200)
  assert.equal((await exchange(bare, { authorization: 'Basic eDp5' })).status, 401)
})

test('a refresh token is spent by its use', async () => {
  const { refresh_token } = (await exchange({ code: await newCode() })).body
  const refresh = () => exchange({ grant_type: 'refresh_token', refresh_token })
  const first = await refresh()
  assert.equal(first.status, 200)
  assert.equal((await askAs(String(first.body.access_token), '/users/@me/guilds')).status, 200)
  assert.deepEqual([(await refresh()).status, (await refresh()).body.error], [400, 'invalid_grant'])
})

test('a token opens only what its scopes say and never what is for the bot', async () => {
  const [identify, guilds] = [await tokenOf('identify'), await tokenOf('guilds')]
  const statuses = async (token: string) =>
    Promise.all(
      [
        '/users/@me',
        '/users/@me/guilds',
        `/guilds/${servers.demo.id}/roles`,
        `/users/${people.member.id}`,
      ].map(async (path) => (await askAs(token, path)).status),
    )
  assert.deepEqual(await statuses(identify), [200, 401, 401, 401])
  assert.deepEqual(await statuses(guilds), [401, 200, 401, 401])
  assert.deepEqual(await statuses('made-up'), [401, 401, 401, 401])
})
