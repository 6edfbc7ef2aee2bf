import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { createExtractor } from './worker.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const OFFICER = { orgId: 1, kind: 'upload' as const }
const tooComplex = { kind: 'invalid', code: 'document.too_complex' }

function extractor(t: TestContext, options = {}) {
  const made = createExtractor(options)
  t.after(() => made.close())
  return (name: string, text: string) => made.extract(name, bytes(text), OFFICER)
}

test('files are read in turn, and a refusal keeps its code', async (t) => {
  const read = extractor(t)
  const all = [read('a.txt', 'one'), read('b.exe', ''), read('c.md', '# two')]
  const [first, second, third] = await Promise.allSettled(all)
  assert.deepEqual(first, { status: 'fulfilled', value: { title: 'a.txt', text: 'one' } })
  assert.equal(second?.status === 'rejected' && second.reason.code, 'document.unsupported')
  assert.deepEqual(third, { status: 'fulfilled', value: { title: 'two', text: 'two' } })
})

test('a page nested a hundred thousand deep fails alone and at once', async (t) => {
  const read = extractor(t)
  const deep = '<div>'.repeat(100_000)
  const results = [read('a.html', deep), read('b.txt', 'fine')]
  const started = performance.now()
  await assert.rejects(results[0] ?? assert.fail(), tooComplex)
  assert.equal((await results[1])?.text, 'fine')
  assert.ok(performance.now() - started < 3000)
})

test('a file that takes too long is given up, and the next is read by a new thread', async (t) => {
  const read = extractor(t, { timeLimitMs: 1000 })
  const slow = read('a.md', '>'.repeat(100_000))
  const next = read('b.txt', 'fine')
  await assert.rejects(slow, tooComplex)
  assert.equal((await next).text, 'fine')
})

test('a thread without work ends, and the next file gets another', async (t) => {
  const started: Worker[] = []
  const note = (worker: Worker) => started.push(worker)
  process.on('worker', note)
  t.after(() => process.off('worker', note))
  const read = extractor(t, { idleMs: 300 })
  await read('a.txt', 'one')
  await read('b.txt', 'two')
  assert.equal(started.length, 1)
  await once(started[0] ?? assert.fail(), 'exit')
  assert.equal((await read('c.txt', 'three')).text, 'three')
  assert.equal(started.length, 2)
})

test('closing ends the file in hand and refuses others', async () => {
  const { extract, close } = createExtractor()
  const slow = extract('a.md', bytes('>'.repeat(100_000)), OFFICER)
  const refused = assert.rejects(slow, { code: 'document.stopped' })
  await new Promise(setImmediate)
  await close()
  await refused
  await assert.rejects(extract('b.txt', bytes('x'), OFFICER), { code: 'document.stopped' })
})

test('a long text is cut in the thread, so that others are answered meanwhile, and not if it makes too many passages', async (t) => {
  const made = createExtractor()
  t.after(() => made.close())
  const text = 'The workshop opens at nine. '.repeat(200_000)
  let over = false
  const cutting = made.cut(text, { chunkChars: 2000, title: 'Hours' }, OFFICER).then((cuts) => {
    over = true
    return cuts
  })
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
  assert.equal(over, false)
  const cuts = await cutting
  assert.equal(cuts.length, Math.ceil(text.length / 1988)) // 71 sentences each
  assert.match(cuts[0]?.content ?? '', /^Hours\nThe workshop/)
  const short = made.cut(text, { chunkChars: 100 }, OFFICER)
  await assert.rejects(short, { kind: 'too_large', code: 'document.too_long' })
})

test('a file that is read and a text that is cut at once each get their own answer', async (t) => {
  const made = createExtractor()
  t.after(() => made.close())
  const [read, cuts] = await Promise.all([
    made.extract('a.md', bytes('# one'), OFFICER),
    made.cut('two', { chunkChars: 300 }, OFFICER),
  ])
  assert.equal(read.text, 'one')
  assert.deepEqual(
    cuts.map(({ content }) => content),
    ['two'],
  )
})

test('a page of 120 000 line breaks is read within the limits', async (t) => {
  const { text } = await extractor(t)('a.html', `<body>one${'<br>'.repeat(120_000)}two</body>`)
  assert.match(text, /^one\s+two$/)
})
