import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { REST, RESTEvents } from '@discordjs/rest'
import { type APIGuildMember, Routes } from 'discord-api-types/v10'
import { people, servers } from '../demo.ts'
import { testSandbox } from '../testing.ts'

/** The official client as the bot, and the world that it asks about. */
async function testBot(
  t: TestContext,
  options: { timeout?: number; rejectOnRateLimit?: string[] } = {},
) {
  const { world, chatApiUrl, chatRequests } = await testSandbox(t)
  const bot = new REST({ api: chatApiUrl, version: '10', retries: 0, offset: 0, ...options })
  bot.setToken(world.application.botToken)
  return { world, bot, chatRequests }
}

const refusedWith = (status: number, code: number) => ({ status, code })

test('the roles of a member are those of the world, at every moment', async (t) => {
  const { world, bot } = await testBot(t)
  const read = async () =>
    ((await bot.get(Routes.guildMember(servers.demo.id, people.officer.id))) as APIGuildMember)
      .roles
  assert.ok((await read()).includes(servers.demo.officerRoleId))
  const member = world.guilds[0]?.members.find(({ userId }) => userId === people.officer.id)
  if (member) member.roleIds = []
  assert.deepEqual(await read(), [])
})

test('a guild, a member or a user that is not there is refused with its own code', async (t) => {
  const { world, bot } = await testBot(t)
  const nowhere = '999999999999999999'
  const demo = servers.demo.id
  await assert.rejects(bot.get(Routes.guild(nowhere)), refusedWith(404, 10_004))
  await assert.rejects(
    bot.get(Routes.guildMember(demo, people.stranger.id)),
    refusedWith(404, 10_007),
  )
  await assert.rejects(bot.get(Routes.guildMember(demo, nowhere)), refusedWith(404, 10_013))
  await assert.rejects(bot.get(Routes.user(nowhere)), refusedWith(404, 10_013))
  await assert.rejects(bot.get('/guilds/demo/roles'), refusedWith(400, 50_035))
  await assert.rejects(bot.get('/channels/1'), refusedWith(404, 0))
  const guild = world.guilds[0]
  if (guild)
    guild.members = guild.members.filter(({ userId }) => userId !== world.application.botId)
  await assert.rejects(bot.get(Routes.guildRoles(demo)), refusedWith(403, 50_001))
  world.application.botToken = 'another'
  await assert.rejects(bot.get(Routes.user()), refusedWith(401, 0))
})

test('the bot sees the guilds that it is on', async (t) => {
  const { world, bot } = await testBot(t)
  const read = async (query = {}) =>
    (
      (await bot.get(Routes.userGuilds(), { query: new URLSearchParams(query) })) as {
        id: string
      }[]
    ).map(({ id }) => id)
  assert.deepEqual(await read(), [servers.demo.id, servers.rival.id])
  assert.deepEqual(await read({ limit: '1', after: servers.demo.id }), [servers.rival.id])
  world.guilds.pop()
  assert.deepEqual(await read(), [servers.demo.id])
})

test('members come by id in pages, and a search finds the start of a name', async (t) => {
  const { world, bot } = await testBot(t)
  const ids = (members: unknown) => (members as APIGuildMember[]).map(({ user }) => user.id)
  const members = Routes.guildMembers(servers.demo.id)
  const list = async (query: Record<string, string>) =>
    ids(await bot.get(members, { query: new URLSearchParams(query) }))
  const [first, second] = [people.officer.id, people.member.id]
  assert.deepEqual(await list({}), [first])
  assert.deepEqual(await list({ limit: '2' }), [first, second])
  assert.deepEqual(await list({ limit: '2', after: second }), [world.application.botId])
  for (const query of [{ limit: '0' }, { limit: '1001' }, { after: 'x' }]) {
    await assert.rejects(list(query as never), refusedWith(400, 50_035))
  }
  const find = async (query: string) =>
    ids(
      await bot.get(Routes.guildMembersSearch(servers.demo.id), {
        query: new URLSearchParams({ query }),
      }),
    )
  assert.deepEqual(await find('oLi'), [first])
  assert.deepEqual(await find('livia'), [])
  await assert.rejects(find(''), refusedWith(400, 50_035))
})

test('without the privilege members are searched but not listed', async (t) => {
  const { world, bot } = await testBot(t)
  world.faults.chatMembersIntent = 'off'
  const demo = servers.demo.id
  await assert.rejects(bot.get(Routes.guildMembers(demo)), refusedWith(403, 50_001))
  const query = new URLSearchParams({ query: 'oli' })
  assert.equal(((await bot.get(Routes.guildMembersSearch(demo), { query })) as []).length, 1)
})

test('each guild has its own count of requests, which the headers tell', async (t) => {
  const { world, bot, chatRequests } = await testBot(t, { rejectOnRateLimit: ['/'] })
  world.chatLimit = { requests: 2, seconds: 60 }
  const told: (string | null)[] = []
  bot.on(RESTEvents.Response, (_request, { headers }) => {
    told.push(headers.get('x-ratelimit-remaining'))
  })
  const roles = (guild: string) => bot.get(Routes.guildRoles(guild))
  for (const guild of [servers.demo.id, servers.demo.id, servers.rival.id]) await roles(guild)
  assert.deepEqual(told, ['1', '0', '1'])
  await assert.rejects(roles(servers.demo.id), { name: /^RateLimitError/ })
  assert.equal(chatRequests.get('GET /guilds/:guild_id/roles'), 3)
})

test('the role of a bot is managed and tagged', async (t) => {
  const { world, bot } = await testBot(t)
  const roles = (await bot.get(Routes.guildRoles(servers.demo.id))) as {
    managed: boolean
    tags?: { bot_id: string }
  }[]
  assert.deepEqual(
    roles.filter(({ managed }) => managed).map(({ tags }) => tags?.bot_id),
    [world.application.botId],
  )
})

test('a platform that is down answers 503 until it is up', async (t) => {
  const { world, bot } = await testBot(t)
  world.faults.chat = 'down'
  await assert.rejects(bot.get(Routes.user()), { status: 503 })
  world.faults.chat = undefined
  await bot.get(Routes.user())
})

test('a slow platform makes the client give up', async (t) => {
  const { world, bot } = await testBot(t, { timeout: 50 })
  world.faults.chat = 'slow'
  await assert.rejects(bot.get(Routes.user()), { name: 'AbortError' })
})

test('the official client waits as long as a 429 tells and then succeeds', async (t) => {
  const { world, bot } = await testBot(t)
  Object.assign(world.faults, { chat: 'rate_limited', chatRetryAfterSeconds: 0.2 })
  const waits: number[] = []
  bot.on(RESTEvents.RateLimited, ({ retryAfter }) => {
    waits.push(retryAfter)
    world.faults.chat = undefined
  })
  const began = performance.now()
  await bot.get(Routes.user())
  const [waited = 0] = waits // what is left when the client looks again, a moment later
  assert.ok(waited > 100 && waited <= 200, `${waited}`)
  assert.ok(performance.now() - began >= 200)
})

test('a client that refuses to wait is told of the 429', async (t) => {
  const { world, bot } = await testBot(t, { rejectOnRateLimit: ['/'] })
  world.faults.chat = 'rate_limited'
  await assert.rejects(bot.get(Routes.user()), { name: 'RateLimitError[/users/@me]' })
})
