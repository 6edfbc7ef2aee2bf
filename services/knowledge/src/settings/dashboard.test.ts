import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schemaOf } from '@guildhall/bus/testing'
import { newId } from '@guildhall/service/id'
import { migrations, type Tables } from '../db.ts'
import { problemsOf, sectionsOf, trendsOf } from './dashboard.ts'

const NOON = new Date('2031-05-10T12:00:00Z')
const labels = { category: 'web', title: 'x', url: '', public: true }

test('sources, runs of a day and failing crawls are those of the org alone', async (t) => {
  const db = await schemaOf<Tables>(t, 'knowledge', migrations)
  const sourceOf = async (org_id: number, key: string, chunk_count?: number) => {
    const [id, version] = [newId(), newId()]
    const source = { ...labels, id, org_id, key, updated_at: NOON }
    await db
      .insertInto('sources')
      .values({ ...source, current_version_id: null })
      .execute()
    if (chunk_count === undefined) return id
    const written = { content_hash: 'x', embedding_model: null, text_chars: 1, written_by: '{}' }
    const row = { ...labels, ...written, id: version, source_id: id, state: 'current' as const }
    await db
      .insertInto('versions')
      .values({ ...row, chunk_count, fetched_at: NOON })
      .execute()
    await db
      .updateTable('sources')
      .set({ current_version_id: version })
      .where('id', '=', id)
      .execute()
    return id
  }
  const crawl = (source_id: string, last_error: string | null, more: object = {}) => {
    const page = { page_hash: null, page_chars: null, fetched_url: null, etag: null }
    const lease = { last_modified: null, lease_id: null, leased_until: null, title: null }
    const times = { fetch_every_hours: 24, due_at: NOON, last_attempt_at: NOON, enabled: true }
    const row = { ...page, ...lease, ...times, source_id, last_error, ...more }
    return db.insertInto('crawls').values(row).execute()
  }
  const ran = (org_id: number, at: string, error: string | null = null) => {
    const row = { id: newId(), org_id, source_key: 'a', kind: 'crawl' as const, error }
    const rest = { started_at: new Date(at), duration_ms: 1, changed: false, chunks: 1 }
    return db
      .insertInto('runs')
      .values({ ...row, ...rest })
      .execute()
  }
  for (const [n, org_id] of [1, 2, 2].entries()) {
    await sourceOf(org_id, `written${n}`, 5)
    await crawl(await sourceOf(org_id, `good${n}`, 7), null)
    await crawl(await sourceOf(org_id, `bad${n}`), 'answered 404')
    await crawl(await sourceOf(org_id, `off${n}`), 'answered 404', { enabled: false })
    await crawl(await sourceOf(org_id, `left${n}`), 'answered 404', { retired: true })
    await ran(org_id, '2031-05-08T23:59:59Z')
    await ran(org_id, '2031-05-09T00:00:00Z')
    await ran(org_id, '2031-05-09T23:59:59Z', 'answered 404')
    await ran(org_id, '2031-05-10T00:00:00Z')
  }
  for (const org of [1, 2]) {
    const knowledge = { sources: 2 * org, passages: 12 * org, crawled: 3 * org, failing: org }
    assert.deepEqual(await sectionsOf(db, org), { knowledge })
    const told = await trendsOf(db, org, '2031-05-09T00:00:00Z')
    assert.deepEqual(
      told.knowledge.toSorted((a, b) => a.date.localeCompare(b.date)),
      [
        { date: '2031-05-09', value: 2 * org, failed: org },
        { date: '2031-05-10', value: org, failed: 0 },
      ],
    )
  }
  const at = NOON.toISOString()
  assert.deepEqual(await problemsOf(db, 1), [
    { kind: 'crawl', key: 'bad0', message: 'answered 404', at },
  ])
  assert.deepEqual((await problemsOf(db, 2)).map(({ key }) => key).sort(), ['bad1', 'bad2'])
})
