import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstErrorOf } from '@guildhall/bus/testing'
import { servers } from '@guildhall/sandbox/demo'
import { AppError } from '@guildhall/service/errors'
import { testBot } from '../testing.ts'

const EVENT = {
  id: 'a',
  title: 'Pizza @everyone **now**',
  start: '2027-01-04T19:00:00Z',
  end: '2027-01-04T20:00:00Z',
  location: '[Room](https://evil.example) <@1>',
  description: null,
  url: 'https://notes.example/a',
}
const eventsOf = (events: object[]) => ({
  status: 'success',
  organization_id: 1,
  organization_name: 'Demo',
  events,
  total_events: events.length,
})

test('events are shown to everybody, with the words of others escaped and nobody pinged', async (t) => {
  const bot = await testBot(t)
  await bot.connected()
  await bot.answerAs('events', async () => eventsOf([EVENT]))
  const said = await bot.type('events')
  assert.equal(said.ephemeral, false)
  assert.deepEqual(said.allowed_mentions, { parse: [] })
  assert.ok(said.acknowledgedMs < 3_000)
  assert.equal(
    said.content,
    `**Coming up at Demo \\*Club\\***
• **Pizza @\u200beveryone \\*\\*now\\*\\*** · <t:1799089200:f> · \\[Room\\](https://evil.example) \\<@\u200b1>`,
  )
})

test('of the words of others nothing becomes a link with another face, or reads the other way round', async (t) => {
  const bot = await testBot(t)
  await bot.connected()
  const title =
    '[a](https://good.example) [Sign in](https://evil.example) \\[b](https://c.example) [c'
  const location = '](https://evil.example) \u202egro.doog\u202c\u2066\u2069'
  await bot.answerAs('events', async () => eventsOf([{ ...EVENT, title, location }]))
  const { content } = await bot.type('events')
  assert.ok(!/(?<!\\)(?:\\\\)*[[\]]/.test(content), 'each bracket has a backslash of its own')
  assert.match(content, /\\\[Sign in\\\]\(https:\/\/evil\.example\) \\\\\\\[b\\\]/)
  assert.match(content, / gro\.doog$/)
})

test('an answer that is too long is cut at a line, and says how much is missing', async (t) => {
  const bot = await testBot(t)
  await bot.connected()
  const title = `${'*'.repeat(400)}😀`
  await bot.answerAs('events', async () =>
    eventsOf(Array.from({ length: 30 }, () => ({ ...EVENT, title, location: title }))),
  )
  const { content } = await bot.type('events')
  assert.ok(content.length <= 2_000, String(content.length))
  assert.match(content, /\n… and 2\d more$/)
})

test('points go to the member who asked, and to nobody else', async (t) => {
  const bot = await testBot(t)
  await bot.connected()
  const asked: object[] = []
  await bot.answerAs('points', async (args) => {
    asked.push(args)
    const entry = { points: 5, event: 'Fair', timestamp: EVENT.start, awarded_by: null }
    return { email: null, total_points: 5, points_breakdown: [entry] }
  })
  const said = await bot.type('points')
  assert.equal(said.ephemeral, true)
  assert.equal(said.content, 'You have **5** points at Demo \\*Club\\*.\n+5 · Fair')
  const [{ chat_user_id } = {}] = asked as { chat_user_id?: string }[]
  assert.equal(chat_user_id, '184402700000000002')
})

test('a refusal is told as it stands, a fault of ours without its inside', async (t) => {
  const bot = await testBot(t)
  await bot.connected()
  await bot.answerAs('ask', async () => {
    throw new AppError('invalid', 'search.query', 'Ask in fewer words')
  })
  await bot.answerAs('leaderboard', async () => ({ secret: 'inside' }))
  assert.equal((await bot.type('ask', { question: 'where?' })).content, 'Ask in fewer words')
  assert.match((await bot.type('leaderboard')).content, /^Something went wrong here; try again/)
  const { org_id, message } = await firstErrorOf(t, { url: bot.settings.NATS_URL, peer: 'bot' })
  assert.equal(org_id, bot.org.id, message)
  assert.match((await bot.type('pods')).content, /^compute (does not answer|cannot be asked) at/)
  bot.org.modules = []
  assert.match((await bot.type('pods')).content, /switched off; ask its officers/)
  const { content } = await bot.type('events', {}, servers.rival.id)
  assert.match(content, /This server is not set up/)
})

test('a member who types on and on is told to wait', async (t) => {
  const bot = await testBot(t)
  await bot.connected()
  await bot.answerAs('events', async () => eventsOf([]))
  const texts = []
  for (let n = 0; n < 21; n++) texts.push((await bot.type('events')).content)
  assert.match(texts[19] ?? '', /Nothing is planned/)
  assert.match(texts[20] ?? '', /Too many requests; try again in/)
})
