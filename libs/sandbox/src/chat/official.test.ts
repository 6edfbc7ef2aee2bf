import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { REST, type RESTOptions } from '@discordjs/rest'
import { Routes } from 'discord-api-types/v10'
import { channels, people, servers } from '../demo.ts'
import { REDIRECT_URI, testSandbox } from '../testing.ts'
import { type Exchange, openOfficial } from './official.ts'

const NOWHERE = '999999999999999999'

/** The official client; what it sends and gets is kept in `exchanges`. */
async function recorded(t: TestContext) {
  const exchanges: Exchange[] = []
  const sandbox = await testSandbox(t)
  const { world, chatApiUrl, chatAuthorizeUrl } = sandbox
  const makeRequest = (async (address: string, init: RequestInit) => {
    const reply = await fetch(address, init)
    const { status, headers } = reply
    const text = await reply.clone().text()
    const body: unknown = text && JSON.parse(text)
    const sent: unknown = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
    const url = new URL(decodeURIComponent(address)) // the client escapes @original
    exchanges.push({ method: init.method ?? 'GET', url, status, headers, body, sent })
    return reply
  }) as unknown as RESTOptions['makeRequest']
  const options = {
    api: chatApiUrl,
    version: '10',
    retries: 0,
    rejectOnRateLimit: ['/'],
    makeRequest,
  }
  const bot = new REST(options).setToken(world.application.botToken)
  const person = new REST({ ...options, authPrefix: 'Bearer' })
  person.setToken(await accessToken(chatAuthorizeUrl, `${chatApiUrl}/v10`, world.application))
  return { exchanges, sandbox, world, bot, person }
}

async function accessToken(
  page: string,
  api: string,
  { clientId: client_id, clientSecret: client_secret }: { clientId: string; clientSecret: string },
) {
  const asked = {
    client_id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'identify guilds',
  }
  const body = new URLSearchParams({ ...asked, user_id: people.officer.id })
  const back = await fetch(page, { method: 'POST', body, redirect: 'manual' })
  const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? ''
  const grant = { client_id, client_secret, code, grant_type: 'authorization_code' }
  const form = new URLSearchParams({ ...grant, redirect_uri: REDIRECT_URI })
  const reply = await fetch(`${api}/oauth2/token`, { method: 'POST', body: form })
  return ((await reply.json()) as { access_token: string }).access_token
}

type Recorded = Awaited<ReturnType<typeof recorded>>

/** What a bot with commands asks for. */
async function askAsCommands({ world, bot, sandbox }: Recorded) {
  const { clientId } = world.application
  const post = (channel: string, content: string) =>
    bot.post(Routes.channelMessages(channel), {
      body: { content, nonce: '1', enforce_nonce: true },
    })
  await bot.get(Routes.gatewayBot())
  const option = { type: 3, name: 'question', description: 'What', required: true }
  const command = { name: 'ask', description: 'Ask', contexts: [0], options: [option] }
  await bot.put(Routes.applicationCommands(clientId), { body: [command] })
  const first = (await post(channels.demo, 'Hello')) as { id: string }
  assert.deepEqual(await post(channels.demo, 'Again'), first, 'the same nonce is one message')
  await assert.rejects(post(NOWHERE, 'Hello'))
  Object.assign(world.guilds[1]?.channels?.[0] ?? {}, { closed: true })
  await assert.rejects(post(channels.rival, 'Hello'))
  await assert.rejects(bot.post(Routes.channelMessages(channels.demo), { body: {} }))
  const typed = sandbox.typeCommand({
    guildId: servers.demo.id,
    userId: people.member.id,
    name: 'ask',
  })
  const callback = Routes.interactionCallback(typed.id, typed.token)
  const deferred = { body: { type: 5, data: { flags: 64 } }, auth: false }
  await bot.post(callback, deferred)
  await assert.rejects(bot.post(callback, deferred))
  const original = Routes.webhookMessage(clientId, typed.token, '@original')
  await bot.patch(original, {
    body: { content: 'Found', allowed_mentions: { parse: [] } },
    auth: false,
  })
  assert.equal((await typed.answered).ephemeral, true)
}

/** Everything that the emulator answers, refusals too. The exchange of a code is not in the description. */
async function askEverything(asked: Recorded) {
  const { world, bot, person } = asked
  const demo = servers.demo.id
  Object.assign(world.users[0] ?? {}, { avatar: 'a_0123456789abcdef0123456789abcdef' })
  Object.assign(world.guilds[0]?.members[0] ?? {}, { avatar: '0123456789abcdef0123456789abcdef' })
  Object.assign(world.guilds[0]?.roles[2] ?? {}, { booster: true })
  const query = (values: Record<string, string>) => ({ query: new URLSearchParams(values) })
  await person.get(Routes.user())
  await person.get(Routes.userGuilds(), query({ limit: '100' }))
  await bot.get(Routes.user())
  await bot.get(Routes.userGuilds(), query({ limit: '200', after: '0' }))
  await bot.get(Routes.user(people.member.id))
  await bot.get(Routes.guild(demo))
  await bot.get(Routes.guildRoles(demo))
  await bot.get(Routes.guildMembers(demo), query({ limit: '1000', after: '0' }))
  await bot.get(Routes.guildMembersSearch(demo), query({ query: 'oli', limit: '10' }))
  await bot.get(Routes.guildMember(demo, people.officer.id))
  await assert.rejects(bot.get(Routes.guildMember(demo, people.stranger.id)))
  await assert.rejects(bot.get(Routes.user(NOWHERE)))
  await assert.rejects(bot.get(Routes.guild(NOWHERE)))
  await assert.rejects(bot.get('/guilds/demo'))
  await assert.rejects(person.get(Routes.guild(demo)))
  await askAsCommands(asked)
  world.guilds[1]?.members.splice(0)
  await assert.rejects(bot.get(Routes.guildRoles(servers.rival.id)))
  world.faults.chatMembersIntent = 'off'
  await assert.rejects(bot.get(Routes.guildMembers(demo)))
  world.chatLimit = { requests: 1, seconds: 60 }
  await assert.rejects(bot.get(Routes.guildMembersSearch(demo), query({ query: 'oli' })))
  world.faults.chat = 'rate_limited'
  await assert.rejects(bot.get(Routes.guildRoles(demo)))
}

test('every request of the official client and every answer fits the official description', async (t) => {
  const official = await openOfficial()
  const asked = await recorded(t)
  await askEverything(asked)
  const statuses = new Set(asked.exchanges.map(({ status }) => status))
  assert.deepEqual([...statuses].sort(), [200, 204, 400, 401, 403, 404, 429])
  if (!official)
    return t.diagnostic('skipped: chat-discord-v10.json is not here, shapes were not checked')
  const faults = asked.exchanges.flatMap((exchange) => official.faults(exchange))
  assert.deepEqual(faults, [])
  t.diagnostic(`${asked.exchanges.length} exchanges fit Discord's description`)
})

test('the check finds what is wrong in a path, a query, a header and a body', async (t) => {
  const official = await openOfficial()
  if (!official)
    return t.diagnostic('skipped: chat-discord-v10.json is not here, nothing to check with')
  const { exchanges, bot } = await recorded(t)
  await bot.get(Routes.guildMembers(servers.demo.id), {
    query: new URLSearchParams({ limit: '10' }),
  })
  const [good] = exchanges
  assert.ok(good)
  const faultsOf = (changes: Partial<Exchange>) =>
    official.faults({ ...good, ...changes }).join('; ')
  const at = (path: string) => new URL(path, good.url)
  assert.equal(faultsOf({}), '')
  assert.match(faultsOf({ body: [{ nick: 1 }] }), /200 \/0 must have required property/)
  assert.match(faultsOf({ headers: new Headers() }), /header X-RateLimit-Limit is missing/)
  assert.match(faultsOf({ url: at('?limit=5000') }), /query limit must be <= 1000/)
  assert.match(faultsOf({ url: at('?page=2') }), /query page is not described/)
  assert.match(
    faultsOf({ url: at('/chat/api/v10/guilds/demo/members') }),
    /path guild_id must match/,
  )
  assert.match(faultsOf({ url: at('/chat/api/v10/clubs') }), /GET \/clubs is not described/)
  assert.match(
    faultsOf({ status: 404, body: { error: 'x' } }),
    /must have required property 'code'/,
  )
})
