import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { getEventPost, postDueEvents, putEventPost } from '@guildhall/contracts/event-posts'
import { addDocument } from '@guildhall/contracts/knowledge-documents'
import { findJobRun, listOrgAudit, startJob } from '@guildhall/contracts/ops'
import { putModules } from '@guildhall/contracts/orgs'
import { assignPoints } from '@guildhall/contracts/points'
import { channels, people, servers } from '@guildhall/sandbox/demo'
import { notesPage } from '@guildhall/sandbox/notes/world'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { testStack } from './stack.ts'

const params = { org: 'demo' }
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** A stack whose bot is connected, an officer, and somebody who types. */
async function testClub(t: TestContext) {
  const clock = { ahead: 0 }
  const stack = await testStack(t, {}, () => new Date(Date.now() + clock.ahead))
  const { sandbox } = stack
  await until(() => sandbox.world.application.commands !== undefined)
  const { access_token: token } = await stack.signIn(people.officer)
  const type = async (name: string, options = {}, person = people.member) =>
    sandbox.typeCommand({ guildId: servers.demo.id, userId: person.id, name, options }).answered
  return { ...stack, clock, token, officer: stack.as(token), type, orgId: await stack.orgId(token) }
}

test('a member types every command of the bot and is answered by the services', async (t) => {
  const { officer, token, type, machineToken, as, orgId } = await testClub(t)
  const award = { chat_user_id: people.member.id, points: 40, event: 'Hike' }
  assert.equal((await officer.call(assignPoints, { params, body: award })).status, 201)
  const writer = as((await machineToken(token, ['knowledge:write'])).token)
  const text = 'The laser cutter stands in the basement. Ask Olivia for the key.'
  const body = { key: 'handbook', title: 'Handbook', text, url: 'https://club.example/handbook' }
  assert.equal((await writer.call(addDocument, { body })).status, 201)

  assert.match((await type('events')).content, /^\*\*Coming up at Demo Club\*\*\n• \*\*Weekly meet/)
  assert.match((await type('leaderboard')).content, /\n1\\\. .+ · 40$/)
  const own = await type('points')
  assert.deepEqual([own.ephemeral, own.content.split('\n')[1]], [true, '+40 · Hike'])
  const others = await type('points', {}, people.officer)
  assert.match(others.content, /^You have \*\*0\*\* points at Demo Club\.$/)
  assert.match((await type('pods')).content, /No pod that you may use runs at Demo Club now\./)
  const found = await type('ask', { question: 'Where is the laser cutter?' })
  assert.match(found.content, /\*\*Handbook\*\* <https:\/\/club\.example\/handbook>\n> .*basement/s)

  for (const name of ['points', 'pods', 'ask']) {
    const { content } = await type(name, { question: 'laser' }, people.stranger)
    assert.match(content, /You are not known as a member of this server/, name)
  }
  const off = { modules: { points: false } }
  const switched = await officer.call(putModules, { params: { org_id: String(orgId) }, body: off })
  assert.equal(switched.status, 200)
  assert.match((await type('leaderboard')).content, /switched off; ask its officers/)
})

test("the bot posts the day's events to the channel that an officer chose, once", async (t) => {
  const { officer, sandbox, clock, orgId, settings } = await testClub(t)
  const { databases } = sandbox.world.notes
  const day = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)
  databases[0]?.pages.push(notesPage({ Name: 'Fair @here', Date: { start: day(0), end: day(1) } }))
  const at = new Date(Date.now() + 2 * MINUTE_MS).toISOString().slice(11, 16)
  const put = (channel_id: string) =>
    officer.call(putEventPost, {
      params: { org_id: String(orgId) },
      body: { events_post_at: at, channel_id, time_zone: 'UTC' },
    })
  const rivals = await put(channels.rival)
  assert.deepEqual(
    [rivals.status, 'code' in rivals.body && rivals.body.code],
    [400, 'event_post.channel'],
  )
  assert.equal((await put(channels.demo)).status, 201)

  const operator = await busAs(t, { url: settings.NATS_URL ?? '', peer: 'operator' })
  async function run() {
    const id = newId()
    await ask(operator, startJob('calendar'), { id, job: postDueEvents.name, args: {} })
    await until(
      async () => (await ask(operator, findJobRun('calendar'), { id })).run?.state === 'done',
    )
  }
  const messages = sandbox.world.guilds[0]?.channels?.[0]?.messages ?? []
  await run()
  assert.equal(messages.length, 0, 'its time has not come')
  clock.ahead = 3 * MINUTE_MS
  await run()
  await run()
  assert.equal(messages.length, 1)
  assert.match(messages[0]?.content ?? '', /• \*\*Fair @\u200bhere\*\* · /)
  assert.deepEqual(messages[0]?.allowed_mentions, { parse: [] })
  const shown = await officer.call(getEventPost, { params: { org_id: String(orgId) } })
  assert.ok(shown.status === 200 && shown.body.last?.state === 'posted')
  const line = await until(async () => {
    const query = { action: 'calendar.events.posted' }
    const reply = await officer.call(listOrgAudit, { params: { org_id: String(orgId) }, query })
    return reply.status === 200 && reply.body.entries[0]
  })
  assert.deepEqual([line.source, line.actor_kind], ['bot', 'job'])
})
