import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '@guildhall/service/id'
import { testStore } from '../testing.ts'
import { pruneImports } from './prune.ts'

test('what became of an import is kept for ninety days', async (t) => {
  const { db } = await testStore(t)
  const now = new Date('2026-06-30T12:00:00Z')
  const file = { org_id: 1, points: 5, content: null, asked_by: null, state: 'done' as const }
  for (const [event, created_at] of [
    ['kept', new Date('2026-04-01T12:00:00Z')],
    ['pruned', new Date('2026-04-01T11:59:59Z')],
  ] as const)
    await db
      .insertInto('imports')
      .values({ id: newId(), ...file, event, result: null, created_at })
      .execute()
  await pruneImports(db, now)
  assert.deepEqual(await db.selectFrom('imports').select('event').execute(), [{ event: 'kept' }])
})
