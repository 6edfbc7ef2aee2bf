import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uploadDocuments } from '@guildhall/contracts/knowledge'
import { listKnowledgeRuns } from '@guildhall/contracts/knowledge-settings'
import { newId } from '@guildhall/service/id'
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
    new Set(
      found.map(({ source_key, changed, chunks, error }) =>
        [source_key, changed, chunks, error].join(' '),
      ),
    ),
    new Set([
      'upload/a.txt true 1 ',
      `upload/b.xlsx false 0 ${errors[1]}`,
      `upload/社团.txt false 0 ${errors[2]}`,
      'upload/a.txt false 1 ',
    ]),
  )
  assert.deepEqual(
    [found.length, found[0]?.kind, found[0]?.source_key],
    [4, 'upload', 'upload/a.txt'],
  )
  assert.equal(next_cursor, null)
  assert.ok(found.every(({ duration_ms }) => duration_ms >= 0))
  const failed = (await runs(alpha, { failed: '1' })).runs
  assert.deepEqual(new Set(failed.map(({ error }) => error)), new Set(errors.slice(1)))
  assert.equal((await runs(alpha, { failed: '0' })).runs.length, 4)
  assert.deepEqual((await runs(as(officer(2)))).runs, [])
})

test('the last 500 runs of an org are kept and read in pages', async (t) => {
  const { as, db } = await testKnowledge(t)
  const alpha = as(officer(1))
  const run = { kind: 'crawl', started_at: new Date(), duration_ms: 1, changed: false } as const
  const at = Date.now() - 3_600_000
  const row = (org_id: number, n: number) => ({
    ...run,
    id: newId(at + n),
    org_id,
    source_key: `k${n}`,
    chunks: n,
    error: null,
  })
  const earlier = Array.from({ length: 499 }, (_, n) => row(1, n + 1))
  await db
    .insertInto('runs')
    .values([...earlier, row(2, 0)])
    .execute()
  const note = ({ id, ...rest }: ReturnType<typeof row>) => noteRun(db, rest)
  const counts = async () => (await runs(alpha, { limit: '500' })).runs.map(({ chunks }) => chunks)
  await note(row(1, 500))
  const all = Array.from({ length: 500 }, (_, n) => 500 - n)
  assert.deepEqual(await counts(), all)
  await note(row(1, 501))
  assert.deepEqual(new Set(await counts()), new Set([501, ...all.slice(0, -1)]))
  assert.equal((await runs(as(officer(2)))).runs.length, 1)

  const first = await runs(alpha, { limit: '2' })
  assert.ok(first.next_cursor)
  const second = await runs(alpha, { limit: '2', cursor: first.next_cursor })
  assert.deepEqual(
    [...first.runs, ...second.runs].map(({ chunks }) => chunks),
    (await counts()).slice(0, 4),
  )
  const foreign = { limit: '2', cursor: first.next_cursor, failed: '1' }
  assert.equal((await alpha.call(listKnowledgeRuns, { params, query: foreign })).status, 400)
})
