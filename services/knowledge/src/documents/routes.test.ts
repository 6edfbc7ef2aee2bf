import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  documentsUploaded,
  getSource,
  putSource,
  search,
  uploadDocuments,
} from '@guildhall/contracts/knowledge'
import { putKnowledgeSettings, type SettingsChange } from '@guildhall/contracts/knowledge-settings'
import { until } from '@guildhall/service/testing'
import { testKnowledge } from '../testing.ts'
import { body, member, officer } from '../testing-bodies.ts'
import { testEmbedder } from '../testing-embedder.ts'

const file = (name: string, content: string | Uint8Array<ArrayBuffer>) => new File([content], name)
type Client = ReturnType<Awaited<ReturnType<typeof testKnowledge>>['as']>

async function upload(client: Client, files: File[], rest = {}) {
  const args = { params: { org: 'org1' }, body: { files, ...rest } }
  const reply = await client.call(uploadDocuments, args)
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

const page = `<title>Opening hours</title><main><p>${'The workshop opens at nine. '.repeat(20)}</p></main>`

test('text, Markdown and HTML are stored and found; a bad file fails alone; all is in one audit line', async (t) => {
  const { as, db } = await testKnowledge(t)
  const reply = await upload(as(officer(1)), [
    file('Notes.TXT', 'A quick fox.\n\nA lazy dog.'),
    file('bad.txt', new Uint8Array([0xff, 0x00, 0x80])),
    file('My Guide.md', '# Guide to badgers\n\nThey dig.'),
    file('page.html', page),
    file('sheet.xlsx', 'x'),
    file('empty.md', ' '),
  ])
  assert.deepEqual(
    reply.files.map(({ file: name, key, changed, error }) => [name, key, changed, error === null]),
    [
      ['Notes.TXT', 'upload/notes.txt', true, true],
      ['bad.txt', 'upload/bad.txt', false, false],
      ['My Guide.md', 'upload/my-guide.md', true, true],
      ['page.html', 'upload/page.html', true, true],
      ['sheet.xlsx', 'upload/sheet.xlsx', false, false],
      ['empty.md', 'upload/empty.md', false, false],
    ],
  )
  assert.deepEqual([reply.indexed, reply.unchanged, reply.failed], [3, 0, 3])
  assert.match(reply.files[4]?.error ?? '', /Accepted are \.txt/)

  const found = await as(member(1)).call(search, { body: { query: 'badger digging' } })
  assert.ok(found.status === 200)
  const [first] = found.body.results
  assert.deepEqual(
    [first?.source_key, first?.title, first?.category, first?.public],
    ['upload/my-guide.md', 'Guide to badgers', 'documents', false],
  )
  const hours = await as(member(1)).call(getSource, { params: { key: 'upload/page.html' } })
  assert.ok(hours.status === 200 && hours.body.source.title === 'Opening hours')
  assert.ok((hours.body.source.version?.chunk_count ?? 0) > 1)

  const lines = await db.selectFrom('outbox').select('payload').orderBy('id', 'desc').execute()
  const { action, details, actor_id } = (lines[0]?.payload ?? {}) as Record<string, unknown>
  assert.deepEqual(
    [action, details, actor_id],
    [documentsUploaded.action, { indexed: 3, unchanged: 0, failed: 3 }, '12345'],
  )
})

test('an unchanged file writes nothing; another text, passage size or label does', async (t) => {
  const first = await testKnowledge(t)
  const alpha = first.as(officer(1))
  const files = [file('a.txt', 'A quick fox.')]
  await upload(alpha, files)
  const versions = () => first.db.selectFrom('versions').select(['id', 'fetched_at']).execute()
  const before = await versions()
  const again = await upload(alpha, files)
  assert.deepEqual(again.files, [
    { file: 'a.txt', key: 'upload/a.txt', changed: false, chunks: 1, error: null },
  ])
  assert.deepEqual([again.unchanged, await versions()], [1, before])

  const relabelled = await upload(alpha, files, { category: 'rules' })
  assert.deepEqual([relabelled.unchanged, await versions()], [1, before])
  const read = await first.as(member(1)).call(getSource, { params: { key: 'upload/a.txt' } })
  assert.ok(read.status === 200 && read.body.source.category === 'rules')
  const changed = await upload(alpha, [file('A.txt', 'A slow fox.')])
  assert.equal(changed.indexed, 1)
  assert.equal((await versions()).length, 1)

  await first.stop()
  const second = await testKnowledge(t, { KNOWLEDGE_CHUNK_CHARS: '400' }, first.settings)
  assert.equal((await upload(second.as(officer(1)), [file('a.txt', 'A slow fox.')])).indexed, 1)
})

test('the passage size and overlap of the org apply when a file is sent again', async (t) => {
  const { as, db } = await testKnowledge(t)
  const alpha = as(officer(1))
  const sentences = Array.from({ length: 12 }, (_, n) => `Sentence ${n} is short.`)
  const files = [file('a.txt', sentences.join(' '))]
  const set = (change: SettingsChange) =>
    alpha.call(putKnowledgeSettings, { params: { org: 'org1' }, body: change })
  const contents = async () => {
    const rows = await db.selectFrom('chunks').select('content').orderBy('ordinal').execute()
    return rows.map(({ content }) => content)
  }
  assert.equal((await upload(alpha, files)).indexed, 1)
  assert.equal((await contents()).length, 1)
  await set({ chunk_chars: 100 })
  assert.equal((await contents()).length, 1) // not before it is sent
  assert.equal((await upload(alpha, files)).indexed, 1)
  const apart = await contents()
  assert.equal(apart.length, 3)
  await set({ chunk_overlap: 50 })
  assert.equal((await upload(alpha, files)).indexed, 1)
  assert.match((await contents())[1] ?? '', /^a\.txt\nSentence 2 is short\. Sentence 3/)
  assert.equal((await upload(alpha, files)).unchanged, 1)
  await set({ chunk_overlap: 0 })
  assert.equal((await upload(alpha, files)).indexed, 1)
  assert.deepEqual(await contents(), apart)
})

test('names become keys or are refused with the reason, and a key counts once an upload', async (t) => {
  const { as } = await testKnowledge(t)
  const reply = await upload(
    as(officer(1)),
    [
      file('Q&A (final).txt', 'one'),
      file('q-a--final-.TXT', 'two'),
      file('社团.txt', 'three'),
      file(`${'x'.repeat(255)}.txt`, 'four'),
      file('C++ notes.md', 'five'),
    ],
    { folder: 'Docs/2026/' },
  )
  assert.deepEqual(
    reply.files.map(({ key }) => key),
    [
      'docs/2026/q-a--final-.txt',
      'docs/2026/q-a--final-.txt',
      null,
      null,
      'docs/2026/c---notes.md',
    ],
  )
  const errors = reply.files.map(({ error }) => error ?? '')
  assert.match(errors[1] ?? '', /Q&A \(final\)\.txt of this upload has the same key/)
  assert.match(errors[2] ?? '', /rename the file/)
  assert.match(errors[3] ?? '', /255/)
  assert.equal(reply.indexed, 2)
})

test('uploads replace what stood under the key, are embedded, and public needs a publisher', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const { as } = await testKnowledge(t, settings)
  await as(member(1)).call(putSource, { params: { key: 'upload/a.txt' }, body: body('old words') })
  const files = [file('a.txt', 'A quick fox.')]
  assert.equal((await upload(as(officer(1)), files)).indexed, 1)
  const read = await as(member(1)).call(getSource, { params: { key: 'upload/a.txt' } })
  assert.equal(read.status === 200 && read.body.source.version?.embedding_model, 'words')

  world.broken = { status: 500, body: '' }
  const failed = await upload(as(officer(1)), [file('b.txt', 'new'), ...files])
  assert.deepEqual([failed.failed, failed.unchanged], [1, 1])
  assert.match(failed.files[0]?.error ?? '', /embeddings .* answered 500/)
  world.broken = undefined

  const open = { params: { org: 'org1' }, body: { files, public: 'true' } }
  assert.equal((await as(officer(1)).call(uploadDocuments, open)).status, 403)
  const publisher = as(officer(1, { publisher: true }))
  assert.equal((await upload(publisher, files, { public: 'true' })).unchanged, 1)
  const found = await as(member(2)).call(search, { body: { query: 'fox' } })
  assert.equal(found.status === 200 && found.body.results.length, 1)
})

test('an org has four uploads in hand at most, and another org none of its wait', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const held = Promise.withResolvers<void>()
  t.after(() => held.resolve())
  world.held = held.promise
  const { as } = await testKnowledge(t, settings)
  const send = (n: number, org = 1) => {
    const args = { params: { org: `org${org}` }, body: { files: [file(`${n}.txt`, `Fox ${n}`)] } }
    return as(officer(org)).call(uploadDocuments, args)
  }
  const uploads = [1, 2, 3, 4].map((n) => send(n))
  await until(() => world.asked.length === 4)
  const refused = await send(5)
  assert.equal(refused.status, 429)
  assert.equal((refused.body as { code?: string }).code, 'document.busy')
  const other = send(6, 2)
  await until(() => world.asked.length === 5)
  held.resolve()
  for (const { status } of await Promise.all([...uploads, other])) assert.equal(status, 200)
  assert.equal((await send(5)).status, 200)
})

test('what an upload has not done after four minutes is refused file by file, before its client is told that nobody answers', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const clock = { passed: 0 }
  const now = () => new Date(Date.now() + clock.passed)
  const { as } = await testKnowledge(t, settings, undefined, { now })
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  t.after(() => second.resolve())
  world.held = first.promise
  const names = ['a.txt', 'b.txt', 'c.txt']
  const uploading = upload(
    as(officer(1)),
    names.map((name) => file(name, name)),
  )
  await until(() => world.asked.length === 1)
  clock.passed = 239_000
  world.held = second.promise
  first.resolve()
  const { files } = await uploading // the second is never answered, the third is not begun
  const [stored, ...late] = files
  assert.equal(stored?.error, null)
  for (const { error } of late) assert.match(error ?? '', /longer than 240 seconds.*send it again/)
  assert.equal(world.asked.length, 2)
})
