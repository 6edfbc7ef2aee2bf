import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import type { Trx } from '../db.ts'
import { insertMembership } from '../people/join.ts'
import { testStore } from '../testing.ts'
import { checkBooks, somebodyWaits } from '../testing-books.ts'
import { imported } from '../testing-imports.ts'

const attended = (emails: string[]) =>
  ['Email,Checked-In Date', ...emails.map((email) => `${email},2026-10-01`)].join('\n')

test('four files of the same strangers in other orders, at once, award them all and add each once', async (t) => {
  const store = await testStore(t)
  const emails = Array.from({ length: 300 }, (_, n) => `stranger${n}@example.org`)
  const files = [emails, emails.toReversed(), emails, emails.toReversed()].map(attended)
  const results = await Promise.all(
    files.map((file, n) => imported(store, file, { event: `Event ${n}` })),
  )
  const counts = results.flatMap((result) => ('awarded' in result ? [result] : []))
  assert.deepEqual(
    counts.map(({ awarded }) => awarded),
    [300, 300, 300, 300],
  )
  assert.equal(
    counts.reduce((sum, { created }) => sum + created, 0),
    300,
  )
  await checkBooks(store.db)
})

test('strangers whom somebody else adds meanwhile are awarded, and are added in the order of their emails', async (t) => {
  const store = await testStore(t)
  const add = async (trx: Trx, email: string) => {
    const person = { id: newId(), email: null, chat_user_id: null, created_at: new Date() }
    await trx.insertInto('people').values(person).execute()
    await insertMembership(trx, { org_id: 1, person: person.id, name: 'A', email }, new Date())
  }
  const [importing] = await store.db.transaction().execute(async (trx) => {
    await add(trx, 'a@example.org')
    const started = [imported(store, attended(['b@example.org', 'a@example.org']))]
    await until(() => somebodyWaits(store.db))
    // the file holds nothing yet that this waits for: it has the same order
    await sql`set local lock_timeout = '500ms'`.execute(trx)
    await add(trx, 'b@example.org')
    return started
  })
  const result = await importing
  assert.ok(result && 'awarded' in result)
  assert.deepEqual([result.awarded, result.created], [2, 0])
  await checkBooks(store.db)
})
