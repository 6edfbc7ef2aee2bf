import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '@guildhall/service/testing'
import { missingAt, testBot } from '../testing.ts'

/** Longer than a bot takes to start and to connect. */
const LONG_MS = 3_000

test('the bot registers its commands, and after a lost connection it resumes and hears what it missed', async (t) => {
  const bot = await testBot(t)
  await bot.connected()
  const { chatGateway, world } = bot.sandbox
  assert.deepEqual(world.application.commands, ['events', 'leaderboard', 'points', 'pods', 'ask'])
  bot.org.modules = []
  chatGateway.drop()
  await until(() => chatGateway.connected() === 0)
  const missed = bot.type('events') // typed while nobody listens
  assert.match((await missed).content, /switched off/)
  assert.deepEqual([chatGateway.counts.identified, chatGateway.counts.resumed], [1, 1])
})

test('where its session is forgotten the bot makes a new one', async (t) => {
  const bot = await testBot(t)
  await bot.connected()
  bot.org.modules = []
  const { chatGateway } = bot.sandbox
  chatGateway.forget()
  chatGateway.drop()
  await until(() => chatGateway.connected() === 1, 15_000)
  assert.equal(chatGateway.counts.identified, 2)
  await until(async () => (await missingAt(bot.bot.url)).length === 0)
  assert.match((await bot.type('events')).content, /switched off/)
})

test('without a token it says so, is ready, and does nothing', async (t) => {
  const bot = await testBot(t, { BOT_TOKEN: '' })
  assert.deepEqual(await missingAt(bot.bot.url), [])
  assert.equal(bot.sandbox.chatGateway.counts.identified, 0)
  assert.equal(bot.sandbox.chatRequests.size, 0)
})

test('a token that is not accepted is told by its probe', async (t) => {
  const bot = await testBot(t, { BOT_TOKEN: 'another.bot.token' })
  const missing = await until(async () => {
    const told = await missingAt(bot.bot.url)
    return told.length > 0 ? told : undefined
  })
  assert.match(missing.join(), /chat: The chat platform does not accept BOT_TOKEN; make a new/)
})

test('a second bot waits until the first is gone', async (t) => {
  const bot = await testBot(t)
  await bot.connected()
  let isOpen = false
  const second = bot.open().then((running) => {
    isOpen = true
    return running
  })
  bot.org.modules = []
  assert.match((await bot.type('events')).content, /switched off/)
  const { counts } = bot.sandbox.chatGateway
  await assert.rejects(
    until(() => isOpen || counts.identified > 1, LONG_MS),
    /in vain/,
  )
  await bot.bot[Symbol.asyncDispose]()
  await second
  await until(() => counts.identified === 2)
  assert.match((await bot.type('events')).content, /switched off/)
})
