import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from './query.ts'

const cases: [string, ReturnType<typeof parseQuery>][] = [
  ['reset my password', { words: ['reset', 'password'], required: [], excluded: [] }],
  ['"brown fox" jump', { words: ['jump'], required: [[{ phrase: 'brown fox' }]], excluded: [] }],
  [
    'fox -dog -"red cat"',
    { words: ['fox'], required: [], excluded: [{ word: 'dog' }, { phrase: 'red cat' }] },
  ],
  ['cats OR dogs', { words: ['cats', 'dogs'], required: [], excluded: [] }],
  ['"a b" OR c', { words: ['c'], required: [[{ phrase: 'a b' }, { word: 'c' }]], excluded: [] }],
  ['to be or not', { words: ['to', 'be', 'or', 'not'], required: [], excluded: [] }],
  ['OR fox OR', { words: ['fox'], required: [], excluded: [] }],
  ['well-known e-mail', { words: ['well', 'known', 'e', 'mail'], required: [], excluded: [] }],
  ['“curly quotes”', { words: [], required: [[{ phrase: 'curly quotes' }]], excluded: [] }],
  ['"never closed', { words: [], required: [[{ phrase: 'never closed' }]], excluded: [] }],
  ['- "" -- !? ( * \\', { words: [], required: [], excluded: [] }],
  ['', { words: [], required: [], excluded: [] }],
]

for (const [text, expected] of cases) {
  test(`the query ${JSON.stringify(text)} is understood`, () => {
    assert.deepEqual(parseQuery(text), expected)
  })
}
