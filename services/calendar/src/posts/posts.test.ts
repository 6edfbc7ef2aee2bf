import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import {
  checkChannel,
  getEventPost,
  postDueEvents,
  postEvents,
  putEventPost,
} from '@guildhall/contracts/event-posts'
import { tellProblems } from '@guildhall/contracts/notifications'
import { findJobRun, startJob } from '@guildhall/contracts/ops'
import { notesPage } from '@guildhall/sandbox/notes/world'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { atId, connect, officer, type TestCalendar, testCalendar } from '../testing.ts'
import { beginPost, claimDay, endUnposted } from './claims.ts'

const CHANNEL = '684402700000000001'
const HOUR_MS = 3_600_000
const now = () => new Date()

/** A calendar with an event today, its post wanted since yesterday, and a bot that answers what `says` says. */
async function testPosts(t: TestContext) {
  const club = await testCalendar(t, { TIMEZONE: 'UTC' })
  await connect(club)
  const day = now().toISOString().slice(0, 10)
  club.database.pages.push(notesPage({ Name: 'Fair', Date: { start: day } }))
  const bot = await busAs(t, { url: club.settings.NATS_URL, peer: 'bot' })
  const posted: { day: string; nonce: string }[] = []
  const reason: { is: string | null } = { is: null }
  const says: { now: () => Promise<object> } = {
    now: async () => ({ is: 'posted', message_id: '1' }),
  }
  answer(bot, checkChannel, async () => ({ reason: reason.is }))
  answer(bot, postEvents, async ({ day, nonce }) => {
    posted.push({ day, nonce })
    return says.now() as never
  })
  await bot.nats.flush()
  const ops = await busAs(t, { url: club.settings.NATS_URL, peer: 'ops' })
  const operator = await busAs(t, { url: club.settings.NATS_URL, peer: 'operator' })
  async function run() {
    const id = newId()
    await ask(operator, startJob('calendar'), { id, job: postDueEvents.name, args: {} })
    const found = await until(async () => {
      const { run } = await ask(operator, findJobRun('calendar'), { id })
      return run?.finished_at ? run : undefined
    })
    return found.result as { posted: number; uncertain: number }
  }
  return { ...club, ops, day, posted, reason, says, run }
}
type Posts = Awaited<ReturnType<typeof testPosts>>

const put = (club: Pick<TestCalendar, 'as'>, body: object, org = 1) =>
  club.as(officer(org)).call(putEventPost, { ...atId(org), body: body as never })
const wanted = { events_post_at: '00:00', channel_id: CHANNEL }

/** Wants it from the first minute of the day, since yesterday; the clock is at one o'clock. */
async function schedule(club: Posts, org = 1) {
  assert.equal((await put(club, wanted, org)).status, 201)
  await sql`update post_settings set changed_at = now() - interval '2 days'`.execute(club.db)
  club.clock.ahead = Date.parse(`${club.day}T01:00:00Z`) - Date.now()
}
async function last(club: Posts) {
  const reply = await club.as(officer()).call(getEventPost, atId())
  assert.ok(reply.status === 200)
  return reply.body.last
}

test('the events of a day are posted once, however often it is looked', async (t) => {
  const club = await testPosts(t)
  await schedule(club)
  assert.deepEqual(await club.run(), { posted: 1, uncertain: 0 })
  assert.deepEqual(await club.run(), { posted: 0, uncertain: 0 })
  assert.deepEqual(
    club.posted.map(({ day }) => day),
    [club.day],
  )
  const { state, events, error } = (await last(club)) ?? assert.fail()
  assert.deepEqual([state, events, error], ['posted', 1, null])
  const lines = await club.db.selectFrom('outbox').select('payload').execute()
  const said = lines
    .map(({ payload }) => payload as { action?: string; source?: string; org_id?: number })
    .filter(({ action }) => action === 'calendar.events.posted')
  assert.deepEqual(
    said.map(({ source, org_id }) => [source, org_id]),
    [['bot', 1]],
  )
})

test('of ten who claim a day at once one gets it', async (t) => {
  const club = await testPosts(t)
  const claims = await Promise.all(Array.from({ length: 10 }, () => claimDay(club.db, 1, club.day)))
  const [claim, ...others] = claims.filter((one) => one !== undefined)
  assert.ok(claim && others.length === 0)
  assert.equal(await beginPost(club.db, { ...claim, claim_id: newId() }, 1), false)
})

test('a day without events has no post', async (t) => {
  const club = await testPosts(t)
  await schedule(club)
  club.database.pages.splice(0)
  assert.equal((await club.run()).posted, 0)
  assert.deepEqual([(await last(club))?.state, club.posted.length], ['empty', 0])
})

test('a refused post is shown and goes out at a later run, one that is too late never', async (t) => {
  const club = await testPosts(t)
  await schedule(club)
  club.says.now = async () => ({ is: 'refused', why: 'The channel is gone' })
  assert.equal((await club.run()).posted, 0)
  assert.equal((await last(club))?.error, 'The channel is gone')
  const { problems } = await ask(club.ops, tellProblems('calendar'), { org_id: 1 })
  assert.match(problems[0]?.message ?? '', /The channel is gone/)
  club.clock.ahead += 7 * HOUR_MS
  club.says.now = async () => ({ is: 'posted', message_id: '1' })
  assert.equal((await club.run()).posted, 0)
  club.clock.ahead -= 7 * HOUR_MS
  assert.equal((await put(club, { ...wanted, channel_id: '684402700000000002' })).status, 200)
  assert.equal((await club.run()).posted, 1)
  assert.equal(club.posted.length, 2)
})

test('a post of unknown outcome is shown and never repeated', async (t) => {
  const club = await testPosts(t)
  await schedule(club)
  club.says.now = async () => ({ is: 'unknown', why: 'Nobody knows' })
  assert.equal((await club.run()).posted, 0)
  assert.deepEqual(
    [(await last(club))?.state, (await last(club))?.error],
    ['uncertain', 'Nobody knows'],
  )
  assert.equal((await club.run()).posted, 0)
  assert.equal(club.posted.length, 1)
})

test('what was claimed by a process that ended is taken up, what it may have posted is not', async (t) => {
  const club = await testPosts(t)
  await schedule(club)
  const claim = (await claimDay(club.db, 1, club.day)) ?? assert.fail()
  assert.equal((await club.run()).posted, 0, 'it is in hand')
  const expire = () =>
    sql`update event_posts set claimed_until = now() - interval '1 second'`.execute(club.db)
  await expire()
  assert.equal((await club.run()).posted, 1)

  await sql`delete from event_posts`.execute(club.db)
  const second = (await claimDay(club.db, 1, club.day)) ?? assert.fail()
  assert.ok(await beginPost(club.db, second, 1))
  await endUnposted(club.db, claim, 'an old claim changes nothing')
  await expire()
  assert.deepEqual(await club.run(), { posted: 0, uncertain: 1 })
  assert.match((await last(club))?.error ?? '', /may or may not stand in the channel/)
})

test('another time zone begins with the next time there', async (t) => {
  const club = await testPosts(t)
  await schedule(club)
  assert.equal((await put(club, { ...wanted, time_zone: 'Africa/Abidjan' })).status, 200)
  assert.equal((await club.run()).posted, 0)
  assert.equal(await last(club), null)
})

test('a day that was missed is noted', async (t) => {
  const club = await testPosts(t)
  await schedule(club)
  club.clock.ahead += 8 * HOUR_MS
  assert.equal((await club.run()).posted, 0)
  assert.match((await last(club))?.error ?? '', /It was not posted: its time was over/)
})

test('a channel that the bot cannot post to is refused before it is kept', async (t) => {
  const club = await testPosts(t)
  club.reason.is = 'The bot may not post to this channel'
  const refused = await put(club, wanted)
  assert.deepEqual(
    [refused.status, 'code' in refused.body && refused.body.code],
    [400, 'event_post.channel'],
  )
  assert.equal((await put(club, { events_post_at: '09:00', channel_id: null })).status, 400)
  assert.equal((await put(club, { ...wanted, events_post_at: '24:00' })).status, 400)
  assert.equal((await put(club, { ...wanted, time_zone: 'Mars/Base' })).status, 400)
  club.reason.is = null
  const link = 'https://discord.com/channels/284402700000000001/684402700000000001'
  const kept = await put(club, { ...wanted, channel_id: link, time_zone: 'Europe/Paris' })
  assert.ok(kept.status === 201)
  assert.deepEqual([kept.body.channel_id, kept.body.time_zone], [CHANNEL, 'Europe/Paris'])
  const off = await put(club, { events_post_at: null, channel_id: CHANNEL })
  assert.ok(off.status === 200)
  assert.deepEqual([off.body.events_post_at, off.body.time_zone], [null, 'Europe/Paris'])
})
