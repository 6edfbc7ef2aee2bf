import assert from 'node:assert/strict'
import { test } from 'node:test'
import { search, uploadDocuments } from '@guildhall/contracts/knowledge'
import { getSourceText } from '@guildhall/contracts/knowledge-dashboard'
import { putKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import { testKnowledge } from '../testing.ts'
import { member, officer } from '../testing-bodies.ts'

const TEXTS = 40
/** What may be mistaken for a title, a boundary or a repetition, and a word longer than a passage. */
const WORDS = ['fox', 'a.txt', 'a.txt\n', '🦊.', 'née', '\n\n', '\na.txt\n', '. ', 'x'.repeat(130)]
const org = { org: 'org1' }
const plain = (text: string) => text.replace(/\s+/g, '')

/** Whole numbers below `most`, the same in every run (Marsaglia's xorshift32). */
function numbers(seed: number) {
  let state = seed
  return (most: number) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % most
  }
}

test('whatever a text holds, its passages joined again are that text and nothing twice', async (t) => {
  const knowledge = await testKnowledge(t)
  const [alpha, reader] = [knowledge.as(officer(1)), knowledge.as(member(1))]
  for (let seed = 1; seed <= TEXTS; seed++) {
    const next = numbers(seed * 7919)
    const drawn = Array.from({ length: 1 + next(60) }, () => WORDS[next(WORDS.length)])
    const text = `begin${seed} ${drawn.join(' ')}`
    const change = { chunk_chars: 100 + next(60), chunk_overlap: next(51) }
    await alpha.call(putKnowledgeSettings, { params: org, body: change })
    const sent = await alpha.call(uploadDocuments, {
      params: org,
      body: { files: [new File([text], 'a.txt')] },
    })
    assert.ok(sent.status === 200 && sent.body.files[0]?.error === null, JSON.stringify(sent.body))
    const { chunks = 0 } = sent.body.files[0] ?? {}

    const whole = await reader.call(getSourceText, { query: { key: 'upload/a.txt', offset: '0' } })
    assert.ok(whole.status === 200)
    assert.equal(plain(whole.body.text), plain(text), `seed ${seed}`)
    // the window around the first passage holds the next five, with the title once
    const asked = { query: `begin${seed}`, window: 5, top_k: 1 }
    const found = await reader.call(search, { body: asked })
    assert.ok(found.status === 200)
    const shown = plain(found.body.results[0]?.content ?? '')
    const expected = plain(`a.txt\n${text}`)
    assert.ok(chunks > 6 ? expected.startsWith(shown) : expected === shown, `seed ${seed}`)
  }
})
