import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { checkChannel, postEvents } from '@guildhall/contracts/event-posts'
import { channels } from '@guildhall/sandbox/demo'
import { testBot } from '../testing.ts'

const EVENT = {
  id: 'a',
  title: 'Fair',
  start: '2026-12-02',
  end: '2026-12-02',
  location: null,
  description: null,
  url: 'https://notes.example/a',
}

/** A connected bot, asked as calendar; what stands in the channel of Demo Club. */
async function testPosts(t: TestContext) {
  const bot = await testBot(t)
  await bot.connected()
  const calendar = await busAs(t, { url: bot.settings.NATS_URL, peer: 'calendar' })
  const [channel, rivals] = bot.world.guilds.map((guild) => guild.channels?.[0] ?? assert.fail())
  assert.ok(channel && rivals)
  const day = { day: '2026-12-02', time_zone: 'UTC', events: [EVENT], total: 1, nonce: 'n1' }
  const post = (channel_id = channel.id, more = {}) =>
    ask(calendar, postEvents, { org_id: 1, channel_id, ...day, ...more })
  const check = async (channel_id: string, org_id = 1) =>
    (await ask(calendar, checkChannel, { org_id, channel_id })).reason
  return { ...bot, channel, post, check }
}

test('a post that the platform took without saying so stands in the channel once', async (t) => {
  const { channel, post } = await testPosts(t)
  channel.fault = 'fails_once_after'
  const said = await post()
  const [message, ...others] = channel.messages
  assert.deepEqual(said, { is: 'posted', message_id: message?.id })
  assert.equal(others.length, 0)
  assert.equal(message?.content, '**Wednesday 2 December**\n• **Fair** · 2 Dec')
  assert.deepEqual(message?.allowed_mentions, { parse: [] })
})

test('nothing is posted to a channel of another org, or one that the bot may not post to', async (t) => {
  const { world, channel, post, check } = await testPosts(t)
  assert.equal(await check(channel.id), null)
  assert.match((await check(channel.id, 2)) ?? '', /no such channel on the org's chat server/)
  const there = await check(channels.rival)
  assert.match(there ?? '', /no such channel on the org's chat server/)
  assert.equal(await check('999999999999999999'), there, 'as one that is nowhere')
  assert.deepEqual(await post(channels.rival), { is: 'refused', why: there })
  channel.closed = true // the bot has not heard of it: the platform refuses
  const refused = await post()
  assert.ok(refused.is === 'refused')
  assert.match(refused.why, /answered 403: Missing Permissions/)
  assert.ok(world.guilds.every((guild) => guild.channels?.[0]?.messages.length === 0))
})

test('a bot without a connection refuses, so that the day is tried again', async (t) => {
  const bot = await testBot(t, { BOT_TOKEN: '' })
  const calendar = await busAs(t, { url: bot.settings.NATS_URL, peer: 'calendar' })
  await assert.rejects(ask(calendar, checkChannel, { org_id: 1, channel_id: channels.demo }), {
    code: 'bot.no_token',
  })
})
