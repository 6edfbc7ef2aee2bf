import assert from 'node:assert/strict'
import { type Check, idsOf, passage, text } from './conformance-rows.ts'

/** What one driver finds and another does not, by the design of its engine. */
export interface WordPromises {
  /** `runs` finds `running`. */
  wordForms: boolean
  /** Only a word that no row holds is read as its likely spelling; else look-alikes come after the right word. */
  noLookAlikes: boolean
}

/** What every driver finds by words. */
export function words(check: Check, promises: WordPromises) {
  check('case and accents do not matter, nor do plurals', async (index) => {
    const row = passage('Résumés of the running DEPLOYMENTS')
    await index.write([row])
    for (const query of ['resume', 'RÉSUMÉ', 'RUNNING', 'deployment', 'guide deployment']) {
      assert.deepEqual(idsOf(await text(index, query)), [row.id], query)
    }
  })

  if (promises.wordForms)
    check('word forms do not matter', async (index) => {
      const row = passage('Résumés of the running DEPLOYMENTS')
      await index.write([row])
      for (const query of ['runs', 'deployed', 'deployment guide']) {
        assert.deepEqual(idsOf(await text(index, query)), [row.id], query)
      }
    })

  check('the row with more and rarer words comes first', async (index) => {
    const both = passage('database migration')
    const one = passage('database backup')
    await index.write([one, both, passage('something else')])
    assert.deepEqual(idsOf(await text(index, 'database migration')), [both.id, one.id])
  })

  check('a small typing mistake does not lose a row', async (index) => {
    const row = passage('Reset the password before the deployment of the migration')
    await index.write([row, passage('A lazy dog')])
    await index.upkeep()
    for (const query of ['pasword', 'deploymnet', 'migraton guide', 'reste passwrod', 'pássword']) {
      assert.deepEqual(idsOf(await text(index, query)), [row.id], query)
    }
  })

  check('stop words decide nothing unless there is nothing else', async (index) => {
    const rows = [passage('the dog and the fox'), passage('to be or not to be')]
    await index.write(rows)
    assert.deepEqual(idsOf(await text(index, 'what is the dog')), [rows[0]?.id])
    assert.deepEqual(idsOf(await text(index, '"to be or not to be"')), [rows[1]?.id])
    assert.deepEqual(idsOf(await text(index, 'to be')), [rows[1]?.id])
  })

  check('a right word comes before look-alikes, and a short one brings none', async (index) => {
    const rows = ['wallet', 'ballet', 'mallet', 'cat'].map((word) => passage(word))
    await index.write(rows)
    await index.upkeep()
    const found = idsOf(await text(index, 'the wallet'))
    assert.equal(found[0], rows[0]?.id)
    if (promises.noLookAlikes) assert.equal(found.length, 1)
    assert.deepEqual(await text(index, 'bat'), [])
  })

  check('a hash, a key and a very long word are words like others', async (index) => {
    const hash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'
    const row = passage(`The checksum is ${hash}`)
    await index.write([row])
    await index.upkeep()
    assert.deepEqual(idsOf(await text(index, `what is ${hash}`)), [row.id])
    const unknown = [hash.replace('9f', 'f9'), 'donaudampfschifffahrt'.repeat(8), 'ab1'.repeat(300)]
    for (const query of unknown) assert.deepEqual(await text(index, query), [], query)
  })

  check('Chinese and names with dots are found by their words', async (index) => {
    const chinese = passage('社团的数据库每天晚上备份一次')
    const code = passage('Run node.js with foo_bar and mail ada@example.org')
    await index.write([chinese, code])
    assert.deepEqual(idsOf(await text(index, '数据库')), [chinese.id])
    for (const query of ['node', 'foo', 'example.org', 'node.js']) {
      assert.deepEqual(idsOf(await text(index, query)), [code.id], query)
    }
  })
}

/** What every driver makes of a query's syntax. */
export function syntax(check: Check) {
  check('a phrase must occur as it stands', async (index) => {
    const [phrase, scattered] = [passage('a brown fox jumps'), passage('the fox is brown')]
    await index.write([phrase, scattered])
    assert.deepEqual(idsOf(await text(index, '"brown fox"')), [phrase.id])
    assert.deepEqual(idsOf(await text(index, '"brown fox" OR "is brown"')).length, 2)
    assert.deepEqual(await text(index, '"fox brown"'), [])
  })

  check('a word after a minus must not occur', async (index) => {
    const [red, blue] = [passage('red fox'), passage('blue fox')]
    await index.write([red, blue])
    assert.deepEqual(idsOf(await text(index, 'fox -blue')), [red.id])
    assert.deepEqual(idsOf(await text(index, 'fox -"red fox"')), [blue.id])
    assert.deepEqual(await text(index, '-blue'), [])
  })

  check('words joined by OR are alternatives', async (index) => {
    const rows = ['a fox', 'a dog', 'a cow'].map((words) => passage(words))
    await index.write(rows)
    assert.deepEqual(idsOf(await text(index, 'fox OR dog')).sort(), idsOf(rows.slice(0, 2)).sort())
  })

  check('no query is an error', async (index) => {
    await index.write([passage('fox')])
    const odd = [
      '',
      ' ',
      '"',
      '""',
      '-',
      'the of',
      'OR',
      '( AND *:~^\\/ )',
      '%_\' "; drop',
      '\u0000',
    ]
    for (const query of odd) assert.deepEqual(await text(index, query), [], query)
    assert.equal((await text(index, 'fox '.repeat(250))).length, 1)
  })
}
