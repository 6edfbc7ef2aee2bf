import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type Check, idsOf, near, passage, pointing, text, vectorAt } from './conformance-rows.ts'
import { syntax, type WordPromises, words } from './conformance-words.ts'
import type { PassageIndex } from './index.ts'

/** Makes an empty index that is closed and removed after the test. */
export type OpenIndex = (t: TestContext) => Promise<PassageIndex>

const EVERYTHING: WordPromises = { wordForms: true, noLookAlikes: true }

/** Registers the tests that every driver of PassageIndex passes, as far as its engine promises. */
export function indexConformance(name: string, open: OpenIndex, promises = EVERYTHING): void {
  const check = (sentence: string, run: (index: PassageIndex) => Promise<void>) =>
    test(`${name}: ${sentence}`, async (t) => run(await open(t)))
  writing(check)
  scope(check)
  words(check, promises)
  syntax(check)
  vectors(check)
  closing(check)
}

function writing(check: Check) {
  check('an empty index finds nothing and says that it is new', async (index) => {
    assert.equal(index.created, true)
    assert.deepEqual([await text(index, 'fox'), await near(index, 0)], [[], []])
    await index.write([])
    await index.remove(1, [])
    await index.upkeep()
  })

  check('rows are found as soon as they are written, before and after upkeep', async (index) => {
    const fox = pointing(10, { text: 'The quick brown fox' })
    await index.write([fox, passage('A lazy dog')])
    for (const _ of ['written', 'kept up']) {
      const expected = [{ id: fox.id, version: fox.version }]
      assert.deepEqual(await text(index, 'fox'), expected)
      assert.deepEqual(await near(index, 10), expected)
      await index.upkeep()
    }
  })

  check('a row written again replaces itself', async (index) => {
    const row = pointing(0, { text: 'first wording', category: 'old' })
    await index.write([row])
    await index.write([{ ...row, text: 'second wording', category: 'new', vector: vectorAt(90) }])
    assert.deepEqual(idsOf(await text(index, 'wording', { category: 'new' })), [row.id])
    assert.deepEqual(await text(index, 'first'), [])
    assert.deepEqual(await text(index, 'wording', { category: 'old' }), [])
    assert.deepEqual(idsOf(await near(index, 90, { maxDistance: 0.1 })), [row.id])
  })

  check('removing versions leaves other versions and other orgs alone', async (index) => {
    const [gone, kept] = [passage('fox one'), passage('fox two')]
    const foreign = passage('fox three', { org: 2, version: gone.version, public: true })
    await index.write([gone, kept, foreign])
    await index.remove(1, [gone.version, randomUUID(), "o'dd"])
    assert.deepEqual(idsOf(await text(index, 'fox')).sort(), idsOf([kept, foreign]).sort())
  })

  check('ten writes, removals and upkeeps at once all succeed', async (index) => {
    const rows = Array.from({ length: 10 }, (_, n) => pointing(n, { text: `fox ${n}` }))
    await index.write(rows.slice(0, 5))
    await Promise.all([
      ...rows.slice(5).map((row) => index.write([row])),
      ...rows.slice(0, 5).map((row) => index.remove(1, [row.version])),
      index.upkeep(),
      text(index, 'fox'),
      near(index, 0),
    ])
    assert.deepEqual(idsOf(await text(index, 'fox')).sort(), idsOf(rows.slice(5)).sort())
  })
}

function scope(check: Check) {
  check(
    'a search sees its own org and what publishers made public, and nothing else',
    async (index) => {
      const own = pointing(1, { text: 'fox own' })
      const shared = pointing(2, { text: 'fox shared', org: 2, public: true })
      const foreign = pointing(3, { text: 'fox foreign', org: 2 })
      await index.write([own, shared, foreign])
      for (const found of [await text(index, 'fox'), await near(index, 0)]) {
        assert.deepEqual(idsOf(found).sort(), idsOf([own, shared]).sort())
      }
      assert.deepEqual(idsOf(await near(index, 0, { org: 3 })), [shared.id])
      for (const publishers of [[], [3]]) {
        for (const found of [
          await text(index, 'fox', { publishers }),
          await near(index, 0, { publishers }),
        ])
          assert.deepEqual(idsOf(found), [own.id])
      }
    },
  )

  check('better rows of other orgs, categories and models take no place', async (index) => {
    const own = pointing(80, { text: 'a fox among many other words that make it rank low' })
    const foreign = Array.from({ length: 60 }, () => pointing(0, { org: 2, text: 'fox fox fox' }))
    const elsewhere = Array.from({ length: 60 }, () =>
      pointing(0, { category: 'news', model: 'm2', text: 'fox fox fox' }),
    )
    await index.write([...foreign, own, ...elsewhere])
    for (const _ of ['written', 'kept up']) {
      assert.deepEqual(idsOf(await text(index, 'fox', { category: 'docs', limit: 5 })), [own.id])
      assert.deepEqual(idsOf(await near(index, 0, { limit: 5 })), [own.id])
      await index.upkeep()
    }
  })

  check('a category may hold any characters', async (index) => {
    const row = passage('fox', { category: `o'brien" or 1=1 --\\` })
    await index.write([row, passage('fox', { org: 2 })])
    assert.deepEqual(idsOf(await text(index, 'fox', { category: row.category })), [row.id])
    assert.deepEqual(await text(index, 'fox', { category: "' or '1'='1" }), [])
  })

  check('the limit is kept and ties are in the order of their ids', async (index) => {
    const rows = Array.from({ length: 9 }, () => pointing(5, { text: 'fox' }))
    await index.write(rows)
    const sorted = idsOf(rows).sort()
    assert.deepEqual(idsOf(await text(index, 'fox')), sorted)
    assert.deepEqual(idsOf(await near(index, 5)), sorted)
    assert.equal((await text(index, 'fox', { limit: 4 })).length, 4)
    assert.equal((await near(index, 5, { limit: 4 })).length, 4)
  })
}

function vectors(check: Check) {
  check('the nearest come first and farther than the distance none', async (index) => {
    const rows = [40, 0, 20, 100, 180].map((degrees) => pointing(degrees))
    await index.write([...rows, passage('without a vector')])
    const [a, b, c, d, e] = idsOf(rows)
    assert.deepEqual(idsOf(await near(index, 0)), [b, c, a, d, e])
    assert.deepEqual(idsOf(await near(index, 0, { maxDistance: 0.3 })), [b, c, a])
    assert.deepEqual(idsOf(await near(index, 0, { maxDistance: 0.05 })), [b])
  })

  check('a vector without a direction is near to nothing and harms no other', async (index) => {
    const odd = [0, 3e38, 1e-30].map((first) =>
      pointing(0, { text: 'fox', vector: new Float32Array(1024).fill(first, 0, 1) }),
    )
    const right = pointing(10, { text: 'fox' })
    await index.write([...odd, right])
    for (const _ of ['written', 'kept up']) {
      assert.deepEqual(idsOf(await near(index, 0)), [right.id])
      assert.deepEqual(idsOf(await text(index, 'fox')).sort(), idsOf([...odd, right]).sort())
      await index.upkeep()
    }
  })

  check('vectors of another model are never compared', async (index) => {
    const rows = [pointing(0), pointing(0, { model: "m'2" })]
    await index.write(rows)
    assert.deepEqual(idsOf(await near(index, 0, { model: "m'2" })), [rows[1]?.id])
    assert.deepEqual(await near(index, 0, { model: 'none' }), [])
  })
}

function closing(check: Check) {
  check('closing finishes the work in hand and ends the index', async (index) => {
    const results = Promise.all([index.write([passage('fox')]), text(index, 'fox'), index.upkeep()])
    await index.close()
    await results
    const closed = { kind: 'unavailable', code: 'search_index.closed' }
    await assert.rejects(async () => text(index, 'fox'), closed)
    await assert.rejects(async () => index.write([passage('fox')]), closed)
    await index.close()
  })
}
