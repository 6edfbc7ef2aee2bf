import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uploadDocuments } from '@guildhall/contracts/knowledge'
import { listKnowledgeRuns } from '@guildhall/contracts/knowledge-settings'
import { testKnowledge } from '../testing.ts'
import { officer } from '../testing-bodies.ts'
import { noteRun } from './queries.ts'

type Client = ReturnType<Awaited<ReturnType<typeof testKnowledge>>['as']>
type Asked = Parameters<typeof query>[0]
const params = { org: 'org1' }
const query = (asked: { limit?: string; cursor?: string; failed?: string }) => asked

async function runs(client: Client, asked: Asked = {}) {
  const reply = await client.call(listKnowledgeRuns, { params, query: query(asked) })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

const file = (name: string, content: string) => new File([content], name)

test('each file of an upload has its run: changed, unchanged, or failed with the reason that the person got', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(officer(1))
  const files = [file('a.txt', 'A quick fox.'), file('b.xlsx', 'x'), file('社团.txt', 'y')]
  const sent = await alpha.call(uploadDocuments, { params, body: { files } })
  assert.ok(sent.status === 200)
  await alpha.call(uploadDocuments, { params, body: { files: files.slice(0, 1) } })

  const { runs: found, next_cursor } = await runs(alpha)
  const errors = sent.body.files.map(({ error }) => error)
  assert.deepEqual(
    found.map(({ source_key, kind, changed, chunks, error }) => [
      source_key,
      kind,
      changed,
      chunks,
      error,
    ]),
    [
      ['upload/a.txt', 'upload', false, 1, null],
      ['upload/社团.txt', 'upload', false, 0, errors[2]],
      ['upload/b.xlsx', 'upload', false, 0, errors[1]],
      ['upload/a.txt', 'upload', true, 1, null],
    ],
  )
  assert.equal(next_cursor, null)
  assert.ok(found.every(({ duration_ms }) => duration_ms >= 0))
  assert.deepEqual(
    (await runs(alpha, { failed: '1' })).runs.map(({ error }) => error),
    [errors[2], errors[1]],
  )
  assert.equal((await runs(alpha, { failed: '0' })).runs.length, 4)
  assert.deepEqual((await runs(as(officer(2)))).runs, [])
})

test('the last 500 runs of an org are kept and read in pages', async (t) => {
  const { as, db } = await testKnowledge(t)
  const alpha = as(officer(1))
  const run = { kind: 'crawl', started_at: new Date(), duration_ms: 1, changed: false } as const
  const note = (org_id: number, n: number) =>
    noteRun(db, { ...run, org_id, source_key: `k${n}`, chunks: n, error: null })
  await note(2, 0)
  for (let n = 1; n <= 500; n++) await note(1, n)
  const counts = async () => (await runs(alpha, { limit: '500' })).runs.map(({ chunks }) => chunks)
  assert.deepEqual([(await counts()).length, (await counts()).at(-1)], [500, 1])
  await note(1, 501)
  assert.deepEqual(
    [(await counts()).length, (await counts())[0], (await counts()).at(-1)],
    [500, 501, 2],
  )
  assert.equal((await runs(as(officer(2)))).runs.length, 1)

  const first = await runs(alpha, { limit: '2' })
  assert.ok(first.next_cursor)
  const second = await runs(alpha, { limit: '2', cursor: first.next_cursor })
  assert.deepEqual(
    [...first.runs, ...second.runs].map(({ chunks }) => chunks),
    [501, 500, 499, 498],
  )
  const foreign = { limit: '2', cursor: first.next_cursor, failed: '1' }
  assert.equal((await alpha.call(listKnowledgeRuns, { params, query: foreign })).status, 400)
})
