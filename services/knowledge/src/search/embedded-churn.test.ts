import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLog } from '@guildhall/service/log'
import { cleanUp } from '@guildhall/service/testing'
import { idsOf, passage } from './conformance-rows.ts'
import { openEmbedded } from './embedded.ts'
import type { IndexRow } from './index.ts'

const SOURCES = 30
const ROWS = 40
const ROUNDS = 4
const QUESTIONS = 20
const BEST = 10
/** As many as a search of knowledge asks for. */
const CANDIDATES = 50

const log = createLog('test', { format: 'json', level: 'silent' })
let state = 1
/** The same numbers in every run, −1 to 1 (xorshift32). */
const random = () => {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return state / 2 ** 31
}
const vector = () => Float32Array.from({ length: 1024 }, random)
const rowsOf = (version: string): IndexRow[] =>
  Array.from({ length: ROWS }, () =>
    passage(`fox ${version}`, {
      org: 1 + (Number(version) % 2),
      version,
      model: 'm1',
      vector: vector(),
    }),
  )
const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0)
const nearness = (a: Float32Array, b: Float32Array) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))

test('after every source was rewritten many times, the nearest are still found and nothing that is gone', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-index-'))
  const index = await openEmbedded({ log, dir: join(home, 'index'), flatRows: 1000 })
  cleanUp(t, async () => {
    await index.close()
    await rm(home, { recursive: true, force: true, maxRetries: 10 })
  })
  const current = new Map<number, IndexRow[]>()
  for (let round = 0; round < ROUNDS; round++) {
    for (let source = 0; source < SOURCES; source++) {
      const gone = current.get(source)?.[0]
      const rows = rowsOf(`${round * SOURCES + source}`)
      await index.write(rows)
      if (gone) await index.remove(gone.org, [gone.version])
      current.set(source, rows)
    }
    await index.upkeep()
  }
  let right = 0
  for (let n = 0; n < QUESTIONS; n++) {
    const asked = { org: 1, publishers: [], limit: CANDIDATES }
    const query = vector()
    const nearest = [...current.values()]
      .flat()
      .filter(({ org }) => org === 1)
      .toSorted((a, b) => nearness(query, b.vector ?? query) - nearness(query, a.vector ?? query))
    const wanted = new Set(idsOf(nearest.slice(0, BEST)))
    const found = await index.searchVector({ ...asked, vector: query, model: 'm1', maxDistance: 2 })
    assert.equal(found.length, CANDIDATES)
    right += found.slice(0, BEST).filter(({ id }) => wanted.has(id)).length
  }
  const recall = right / (QUESTIONS * BEST)
  t.diagnostic(`recall@10 ${recall}`)
  assert.ok(recall >= 0.97, `recall@10 ${recall}`) // vectors without any cluster are the hardest case
  const all = await index.searchText({
    org: 1,
    publishers: [],
    query: 'fox',
    limit: SOURCES * ROWS,
  })
  const own = [...current.values()].flat().filter(({ org }) => org === 1)
  assert.deepEqual(idsOf(all).sort(), idsOf(own).sort())
})
