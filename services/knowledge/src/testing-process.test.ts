import assert from 'node:assert/strict'
import { test } from 'node:test'
import { knowledgeSettings } from './testing.ts'
import { knowledgeProcess } from './testing-process.ts'

test('a process that does not start says why', async (t) => {
  const settings = { ...(await knowledgeSettings(t)), DATABASE_URL: 'nowhere' }
  await assert.rejects(knowledgeProcess(t, settings), /before it had started:.*DATABASE_URL/s)
})
