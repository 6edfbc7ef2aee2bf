import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitPassages } from './split.ts'

const sentence = (n: number) => `Sentence number ${n} says something of use.`
const many = (count: number) => Array.from({ length: count }, (_, n) => sentence(n)).join(' ')
const bare = (text: string) => text.replace(/\s+/g, '')

test('an empty text has no passages, a short one has one', () => {
  for (const empty of ['', ' \r\n\t\n '])
    assert.deepEqual(splitPassages(empty, { chunkChars: 300 }), [])
  assert.deepEqual(splitPassages('  Hello.  ', { chunkChars: 300 }), ['Hello.'])
})

test('the title is the first line of each passage and is not counted', () => {
  const passages = splitPassages(many(20), { chunkChars: 100, title: 'T'.repeat(90) })
  assert.ok(passages.length > 1)
  for (const passage of passages) {
    const [title, ...rest] = passage.split('\n')
    assert.equal(title, 'T'.repeat(90))
    assert.ok(rest.join('\n').length > 40)
  }
})

test('paragraphs stay whole where they fit, and small ones share a passage', () => {
  const text = ['Heading', many(2), many(2), many(1)].join('\n\n')
  const passages = splitPassages(text, { chunkChars: 100 })
  assert.deepEqual(passages, [`Heading\n\n${many(2)}`, many(2), many(1)])
})

test('a huge paragraph is cut between sentences and nothing is lost', () => {
  const text = many(2000)
  const passages = splitPassages(text, { chunkChars: 300 })
  for (const passage of passages) {
    assert.ok(passage.length <= 300)
    assert.match(passage, /^Sentence .*\.$/s)
  }
  assert.equal(passages.join(' '), text)
})

test('a long sentence is cut between words', () => {
  const words = Array.from({ length: 500 }, (_, n) => `word${n}`)
  const passages = splitPassages(words.join(' '), { chunkChars: 100, chunkOverlap: 50 })
  assert.ok(passages.every((passage) => passage.length <= 100))
  assert.ok(passages.slice(0, -1).every((passage) => passage.length > 90))
  assert.deepEqual(passages.join(' ').split(' '), words)
})

test('the overlap is whole sentences of the passage before', () => {
  const passages = splitPassages(many(30), { chunkChars: 200, chunkOverlap: 100 })
  for (const [index, passage] of passages.slice(1).entries()) {
    const before = passages[index] ?? ''
    const shared = (passage.match(/^.*?\./) ?? [''])[0]
    assert.match(shared, /^Sentence number \d+ says something of use\.$/)
    assert.ok(before.includes(shared) && before.endsWith('.'))
    assert.ok(passage.length <= 200)
  }
  assert.ok(bare(splitPassages(many(30), { chunkChars: 200 }).join('')) === bare(many(30)))
})

test('an overlap never stops the text from going on', () => {
  const passages = splitPassages(many(100), { chunkChars: 100, chunkOverlap: 50 })
  assert.ok(passages.length <= 100)
  assert.ok(passages.at(-1)?.endsWith(sentence(99)))
})

test('Windows and old Mac line ends are line ends', () => {
  const text = `${many(2)}\n\n${many(2)}\n \n${many(2)}`
  const expected = splitPassages(text, { chunkChars: 100 })
  assert.equal(expected.length, 3)
  for (const end of ['\r\n', '\r']) {
    assert.deepEqual(splitPassages(text.replaceAll('\n', end), { chunkChars: 100 }), expected)
  }
})

test('Chinese and Japanese are cut at their sentences and words', () => {
  const text = '社团的数据库每天晚上备份一次。忘记密码的成员可以向管理员申请重置。'.repeat(50)
  const passages = splitPassages(text, { chunkChars: 100 })
  assert.ok(passages.every((passage) => passage.length <= 100 && passage.endsWith('。')))
  assert.equal(passages.join(''), text)
  const endless = '数据库'.repeat(1000)
  const cut = splitPassages(endless, { chunkChars: 100 })
  assert.ok(cut.every((passage) => passage.startsWith('数据库') && passage.endsWith('数据库')))
})

test('a megabyte without white space is cut between graphemes in reasonable time', () => {
  const started = performance.now()
  for (const unit of ['x', '👩‍👩‍👧‍👦', 'e\u0301', '數']) {
    const text = unit.repeat(1_000_000 / unit.length)
    const passages = splitPassages(text, { chunkChars: 300 })
    assert.equal(passages.join(''), text)
    assert.ok(
      passages.every((passage) => passage.length <= 300 && passage.length % unit.length === 0),
    )
  }
  assert.ok(performance.now() - started < 10_000)
})

test('a single grapheme longer than a passage is cut between code points', () => {
  const zalgo = `a${'\u{1D165}'.repeat(1000)}`
  const passages = splitPassages(zalgo, { chunkChars: 100 })
  assert.equal(passages.join(''), zalgo)
  assert.ok(passages.every((passage) => passage.length <= 100 && passage.isWellFormed()))
})
