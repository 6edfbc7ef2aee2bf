import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KnowledgeSettings } from '@guildhall/contracts/knowledge'
import { changedSettings } from './rules.ts'

const defaults: KnowledgeSettings = {
  chunk_chars: 100,
  chunk_overlap: 0,
  mode: 'hybrid',
  top_k: 8,
  window: 0,
  max_distance: 0.6,
  rrf_k: 60,
}

test('an overlap that a smaller default made too large stops no other change', () => {
  const own = { chunk_overlap: 150 }
  assert.deepEqual(changedSettings(own, { top_k: 3 }, defaults), { ...own, top_k: 3 })
  assert.throws(() => changedSettings(own, { chunk_overlap: 51 }, defaults), {
    code: 'settings.overlap',
  })
  assert.deepEqual(changedSettings(own, { chunk_overlap: 50 }, defaults), { chunk_overlap: 50 })
  assert.deepEqual(changedSettings(own, { chunk_overlap: null }, defaults), {})
})
