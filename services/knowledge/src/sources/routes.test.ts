import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  deleteSource,
  getSource,
  indexPending,
  listSources,
  putSource,
  search,
  sourceDeleted,
  sourceWritten,
} from '@guildhall/contracts/knowledge'
import { testKnowledge } from '../testing.ts'
import { body, member, vectorBody } from '../testing-bodies.ts'

test('a source written is found at once, read, listed and deleted, each with its audit line', async (t) => {
  const { as, db } = await testKnowledge(t)
  const alpha = as(member(1))
  const put = await alpha.call(putSource, {
    params: { key: 'docs/a' },
    body: body('quick fox', 'lazy dog'),
  })
  assert.ok(put.status === 201, JSON.stringify(put.body))
  assert.equal(put.body.source.version?.chunk_count, 2)
  assert.equal(put.body.source.version?.text_chars, 17)
  assert.equal(put.body.source.version?.embedding_model, null)

  const found = await alpha.call(search, { body: { query: 'foxes' } })
  assert.ok(found.status === 200)
  assert.deepEqual(
    found.body.results.map(({ source_key, content }) => [source_key, content]),
    [['docs/a', 'quick fox']],
  )
  assert.equal(found.body.dense, false)
  const read = await alpha.call(getSource, { params: { key: 'docs/a' } })
  assert.deepEqual(read.body, put.body)

  const gone = await alpha.call(deleteSource, { params: { key: 'docs/a' } })
  assert.deepEqual(gone.body, { deleted: true })
  assert.equal((await alpha.call(getSource, { params: { key: 'docs/a' } })).status, 404)
  assert.equal((await alpha.call(deleteSource, { params: { key: 'docs/a' } })).status, 404)
  const after = await alpha.call(search, { body: { query: 'fox' } })
  assert.ok(after.status === 200 && after.body.results.length === 0)

  const lines = await db.selectFrom('outbox').select('payload').orderBy('id').execute()
  assert.deepEqual(
    lines.map(({ payload }) => (payload as { action: string }).action),
    [sourceWritten.action, sourceDeleted.action],
  )
  const left = await Promise.all(
    (['sources', 'versions', 'chunks', 'removed_versions'] as const).map((table) =>
      db.selectFrom(table).selectAll().execute(),
    ),
  )
  assert.deepEqual(left.flat(), [])
})

test('the same content changes only labels, and these reach the search', async (t) => {
  const { as } = await testKnowledge(t)
  const [alpha, beta] = [as(member(1, { publisher: true })), as(member(2))]
  const params = { key: 'a' }
  const first = await alpha.call(putSource, { params, body: body('quick fox') })
  assert.ok(first.status === 201)
  const labels = { category: 'other', title: 'New', url: 'https://example.org/', public: true }
  const second = await alpha.call(putSource, { params, body: { ...body('quick fox'), ...labels } })
  assert.ok(second.status === 200, JSON.stringify(second.body))
  assert.deepEqual(second.body.source.version, first.body.source.version)
  assert.equal(second.body.source.title, 'New')

  for (const client of [alpha, beta]) {
    const found = await client.call(search, { body: { query: 'fox', category: 'other' } })
    assert.ok(found.status === 200)
    assert.deepEqual(
      found.body.results.map(({ title }) => title),
      ['New'],
    )
    const before = await client.call(search, { body: { query: 'fox', category: 'docs' } })
    assert.ok(before.status === 200 && before.body.results.length === 0)
  }
  await alpha.call(putSource, { params, body: body('quick fox') })
  const hidden = await beta.call(search, { body: { query: 'fox' } })
  assert.ok(hidden.status === 200 && hidden.body.results.length === 0)
})

test('a hash of the writer decides what is new; ours covers everything but the vectors themselves', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(member(1))
  const put = (written: ReturnType<typeof body>) =>
    alpha.call(putSource, { params: { key: 'a' }, body: written }).then(({ status }) => status)
  assert.equal(await put({ ...body('one'), content_hash: 'h1' }), 201)
  assert.equal(await put({ ...body('two'), content_hash: 'h1' }), 200)
  assert.equal(await put(body('two')), 201)
  assert.equal(await put(body('two')), 200)
  assert.equal(await put(body('two', 'three')), 201)
  assert.equal(await put({ ...body('two'), chunks: [{ ordinal: 3, content: 'two' }] }), 201)
  assert.equal(await put(vectorBody('m1', ['two', 0])), 201)
  assert.equal(await put(vectorBody('m1', ['two', 90])), 200)
  assert.equal(await put(vectorBody('m2', ['two', 0])), 201)
})

test('chunks that do not fit each other are refused with every fault', async (t) => {
  const { as } = await testKnowledge(t)
  const put = (chunks: object[], rest = {}) =>
    as(member(1)).call(putSource, {
      params: { key: 'a' },
      body: { ...body(), chunks, ...rest } as never,
    })
  const row = { content: 'x' }
  const embedding = new Array<number>(1024).fill(0.5)
  const cases: [object[], string[]][] = [
    [
      [
        { ...row, ordinal: 1 },
        { ...row, ordinal: 1 },
      ],
      ['/body/chunks/1/ordinal'],
    ],
    [[{ ...row, ordinal: 1, parent_ordinal: 2 }], ['/body/chunks/0/parent_ordinal']],
    [[{ ...row, ordinal: 1, parent_ordinal: 1 }], ['/body/chunks/0/parent_ordinal']],
    [
      [
        { ...row, ordinal: 1, level: 1, parent_ordinal: 2 },
        { ...row, ordinal: 2, level: 1, parent_ordinal: 1 },
      ],
      ['/body/chunks/0/parent_ordinal', '/body/chunks/1/parent_ordinal'],
    ],
    [
      [
        { ...row, ordinal: 1, embedding },
        { ...row, ordinal: 2 },
      ],
      ['/body/chunks/1/embedding', '/body/embedding_model'],
    ],
    [[{ ...row, ordinal: 1, embedding: embedding.slice(1) }], ['/body/chunks/0/embedding']],
  ]
  for (const [chunks, paths] of cases) {
    const reply = await put(chunks)
    assert.ok(reply.status === 400, JSON.stringify(reply.body))
    assert.deepEqual(
      reply.body.details?.map(({ path }) => path),
      paths,
    )
  }
  for (const first of [0, 1e-30, 3e38, 1e300]) {
    const wrong = [first, ...new Array<number>(1023).fill(0)]
    const rest = { embedding_model: 'm1' }
    const reply = await put([{ ...row, ordinal: 1, embedding: wrong }], rest)
    assert.ok(reply.status === 400, String(first))
    assert.deepEqual(
      reply.body.details?.map(({ path }) => path),
      ['/body/chunks/0/embedding'],
    )
  }
})

test('only publishers write public sources: marked ones and those of the setting', async (t) => {
  const { as } = await testKnowledge(t, { KNOWLEDGE_PUBLISHERS: 'other, org2' })
  const status = async (org: ReturnType<typeof member>) => {
    const args = { params: { key: 'a' }, body: { ...body('x'), public: true } }
    return (await as(org).call(putSource, args)).status
  }
  assert.equal(await status(member(1)), 403)
  assert.equal(await status(member(1, { publisher: true })), 201)
  assert.equal(await status(member(2)), 201)
})

test("another org's sources do not exist, and public ones are found everywhere", async (t) => {
  const { as } = await testKnowledge(t)
  const [alpha, beta] = [as(member(1, { publisher: true })), as(member(2))]
  await alpha.call(putSource, { params: { key: 'own' }, body: body('secret fox') })
  await alpha.call(putSource, {
    params: { key: 'open' },
    body: { ...body('open fox'), public: true },
  })
  for (const key of ['own', 'open']) {
    assert.equal((await beta.call(getSource, { params: { key } })).status, 404)
    assert.equal((await beta.call(deleteSource, { params: { key } })).status, 404)
  }
  const list = await beta.call(listSources, {})
  assert.deepEqual(list.body, { sources: [], next_cursor: null })
  const found = await beta.call(search, { body: { query: 'fox' } })
  assert.ok(found.status === 200)
  assert.deepEqual(
    found.body.results.map(({ source_key, public: open }) => [source_key, open]),
    [['open', true]],
  )
})

test('the list is paged by key, within a category, with cursors of its own', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(member(1))
  const keys = ['B', 'a/1', 'a/2', 'b', 'c:d']
  for (const key of keys.toReversed()) {
    const category = key.startsWith('a') ? 'a' : 'docs'
    await alpha.call(putSource, { params: { key }, body: { ...body(key), category } })
  }
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await alpha.call(listSources, { query: { limit: '2', ...(cursor && { cursor }) } })
    assert.ok(page.status === 200)
    seen.push(...page.body.sources.map(({ key }) => key))
    cursor = page.body.next_cursor ?? undefined
  } while (cursor)
  assert.deepEqual(seen, keys)

  const first = await alpha.call(listSources, { query: { limit: '1', category: 'a' } })
  assert.ok(first.status === 200 && first.body.next_cursor)
  const foreign = { query: { limit: '1', cursor: first.body.next_cursor } }
  assert.equal((await alpha.call(listSources, foreign)).status, 400)
})

test('ten who write one key at once are all answered, and one version stays', async (t) => {
  const { as, db, run } = await testKnowledge(t)
  const alpha = as(member(1))
  const params = { key: 'a' }
  for (const words of [(n: number) => `fox number${n}`, () => 'fox again']) {
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, n) => alpha.call(putSource, { params, body: body(words(n)) })),
    )
    for (const { status, body: said } of replies)
      assert.ok(status === 200 || status === 201, JSON.stringify(said))
    const found = await alpha.call(search, { body: { query: 'fox' } })
    assert.ok(found.status === 200)
    const chunks = await db.selectFrom('chunks').select(['id', 'content']).execute()
    assert.deepEqual(
      found.body.results.map(({ chunk_id, content }) => ({ id: chunk_id, content })),
      chunks,
    )
    assert.equal(chunks.length, 1)
  }
  const versions = await db.selectFrom('versions').select('state').execute()
  assert.deepEqual(versions, [{ state: 'current' }])
  await run(indexPending)
  assert.deepEqual(await db.selectFrom('removed_versions').selectAll().execute(), [])
})

test('writers and deleters of one key at once leave all or nothing', async (t) => {
  const { as, db } = await testKnowledge(t)
  const alpha = as(member(1))
  const params = { key: 'a' }
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      n % 2
        ? alpha.call(deleteSource, { params })
        : alpha.call(putSource, { params, body: body(`fox ${n}`) }),
    ),
  )
  for (const { status } of replies) assert.ok([200, 201, 404, 409].includes(status), String(status))
  const read = await alpha.call(getSource, { params })
  const found = await alpha.call(search, { body: { query: 'fox' } })
  assert.ok(found.status === 200)
  assert.equal(found.body.results.length, read.status === 200 ? 1 : 0)
  const versions = await db.selectFrom('versions').select('state').execute()
  assert.equal(versions.length, read.status === 200 ? 1 : 0)
})
