import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schemaOf } from '@guildhall/bus/testing'
import { newId } from '@guildhall/service/id'
import { migrations, type Tables } from '../db.ts'
import { sectionsOf, trendsOf } from './dashboard.ts'

const NOW = new Date('2031-05-10T12:00:00Z')

test('conversations, held actions and questions of a day are those of the org alone', async (t) => {
  const db = await schemaOf<Tables>(t, 'agents', migrations)
  const talk = async (owner: { org_id: number; chat_user_id: string }, more: object = {}) => {
    const id = newId()
    const times = { created_at: NOW, updated_at: NOW }
    const row = { ...owner, id, channel_id: '1', visibility: 'private' as const, ...times }
    await db
      .insertInto('conversations')
      .values({ ...row, ...more })
      .execute()
    return id
  }
  const say = (conversation: string, seq: number, role: 'user' | 'assistant', at: string) =>
    db
      .insertInto('messages')
      .values({
        ...{ conversation, seq, role, content: '"x"', covers: null, bytes: 3 },
        created_at: new Date(at),
      })
      .execute()
  const hold = (owner: object, more: object = {}) => {
    const times = { created_at: NOW, expires_at: new Date(NOW.getTime() + 1_000) }
    const row = { id: newId(), action: '{}', payload_hash: 'x', answered_at: null, approved: null }
    const { org_id, chat_user_id } = owner as { org_id: number; chat_user_id: string }
    return db
      .insertInto('pending_actions')
      .values({ ...row, ...times, org_id, chat_user_id, ...more })
      .execute()
  }
  for (const [n, org_id] of [1, 2, 2].entries()) {
    const owner = { org_id, chat_user_id: `${n}` }
    const talked = await talk(owner)
    await talk(owner, { state: 'ended' })
    await say(talked, 1, 'user', '2031-05-08T23:59:59Z')
    await say(talked, 2, 'user', '2031-05-09T00:00:00Z')
    await say(talked, 3, 'assistant', '2031-05-09T01:00:00Z')
    await say(talked, 4, 'user', '2031-05-10T00:00:00Z')
    await hold(owner)
    await hold(owner, { answered_at: NOW, approved: true })
    await hold(owner, { expires_at: NOW })
  }
  for (const org of [1, 2]) {
    const agents = { conversations: 2 * org, conversations_open: org, pending_actions: org }
    assert.deepEqual(await sectionsOf(db, org, NOW), { agents })
    const { questions } = await trendsOf(db, org, '2031-05-09T00:00:00Z')
    assert.deepEqual(
      questions.toSorted((a, b) => a.date.localeCompare(b.date)),
      [
        { date: '2031-05-09', value: org, failed: 0 },
        { date: '2031-05-10', value: org, failed: 0 },
      ],
    )
  }
})
