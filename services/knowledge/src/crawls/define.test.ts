import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  deleteSource,
  getSource,
  listSources,
  putSource,
  uploadDocuments,
} from '@guildhall/contracts/knowledge'
import {
  crawlQueued,
  crawlWritten,
  putCrawl,
  putOrgCrawl,
  runCrawl,
  runOrgCrawl,
} from '@guildhall/contracts/knowledge-crawls'
import { testKnowledge } from '../testing.ts'
import { body, member, officer } from '../testing-bodies.ts'
import { crawling } from '../testing-crawls.ts'
import { page, says } from '../testing-site.ts'

const web = { category: 'web', url: 'http://site.test/p' }

test('a definition is checked, belongs to the org, and only publishers make it public', async (t) => {
  const { as, db, publishers } = await testKnowledge(t)
  const put = (definition: object, id = 2) =>
    as(member(id)).call(putCrawl, { params: { key: 'a' }, body: { ...web, ...definition } })
  for (const wrong of [
    { url: 'ftp://site.test/' },
    { url: 'site.test' },
    { url: 'http://' },
    { url: 'https://ada:secret@site.test/' },
    { url: `http://site.test/${'x'.repeat(2000)}` },
    { fetch_every_hours: 0 },
    { fetch_every_hours: 721 },
    { fetch_every_hours: 1.5 },
    { category: '' },
    { title: '' },
  ]) {
    assert.equal((await put(wrong)).status, 400, JSON.stringify(wrong))
  }
  const refused = await put({ public: true })
  assert.ok(refused.status === 403 && refused.body.code === 'source.not_publisher')
  assert.deepEqual(await db.selectFrom('sources').selectAll().execute(), [])
  for (const fetch_every_hours of [1, 720])
    assert.ok((await put({ fetch_every_hours }, 4)).status < 300, `${fetch_every_hours}`)
  publishers.add(2)
  const open = await as(member(2, { publisher: true })).call(putCrawl, {
    params: { key: 'a' },
    body: { ...web, public: true, title: 'My title' },
  })
  assert.ok(open.status === 201 && open.body.source.title === 'My title')
  assert.equal((await as(member(3)).call(getSource, { params: { key: 'a' } })).status, 404)
  const foreign = await as(member(3)).call(runCrawl, { body: { key: 'a' } })
  assert.ok(foreign.status === 404 && foreign.body.code === 'crawl.not_found')
  const listed = await as(member(2)).call(listSources, { query: {} })
  assert.ok(listed.status === 200 && listed.body.sources[0]?.crawl?.fetch_every_hours === 24)
})

test('written, uploaded and crawled sources do not replace each other', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(member(1))
  await alpha.call(putSource, { params: { key: 'written' }, body: body('fox') })
  const over = await alpha.call(putCrawl, { params: { key: 'written' }, body: web })
  assert.ok(over.status === 409 && over.body.code === 'crawl.other_source')
  const run = await alpha.call(runCrawl, { body: { key: 'written' } })
  assert.equal(run.status, 404)
  await alpha.call(putCrawl, { params: { key: 'upload/a.txt' }, body: web })
  const back = await alpha.call(putSource, { params: { key: 'upload/a.txt' }, body: body('fox') })
  assert.ok(back.status === 409 && back.body.code === 'source.crawled')
  const files = [new File(['text'], 'a.txt'), new File(['text'], 'b.txt')]
  const upload = await as(officer(1)).call(uploadDocuments, {
    params: { org: 'org1' },
    body: { files },
  })
  assert.ok(upload.status === 200)
  assert.deepEqual([upload.body.indexed, upload.body.failed], [1, 1])
  assert.match(upload.body.files[0]?.error ?? '', /crawled from the web/)
  const gone = await alpha.call(deleteSource, { params: { key: 'upload/a.txt' } })
  assert.equal(gone.status, 200)
  const free = await alpha.call(putSource, { params: { key: 'upload/a.txt' }, body: body('fox') })
  assert.equal(free.status, 201)
})

test('officers do the same by their own routes; every change has one audit line, the same again has none', async (t) => {
  const { as, db } = await testKnowledge(t)
  const params = { org: 'org1', key: 'a' }
  const put = (definition: object) =>
    as(officer(1)).call(putOrgCrawl, { params, body: { ...web, ...definition } })
  const statuses = []
  for (const definition of [{}, {}, { category: 'b' }, { category: 'b' }, { enabled: false }])
    statuses.push((await put(definition)).status)
  assert.deepEqual(statuses, [201, 200, 200, 200, 200])
  const off = await put({ enabled: false })
  assert.ok(off.status === 200 && off.body.source.crawl?.due_at === null)
  assert.equal(off.body.source.category, 'web')
  const args = { params: { org: 'org1' }, body: { key: 'a', force: true } }
  assert.equal((await as(officer(1)).call(runOrgCrawl, args)).status, 202)
  const lines = await db.selectFrom('outbox').select('payload').orderBy('id').execute()
  const actions = lines.map(({ payload }) => (payload as { action?: string }).action)
  assert.equal(actions.filter((action) => action === crawlWritten.action).length, 3)
  assert.equal(actions.filter((action) => action === crawlQueued.action).length, 1)
})

test('of ten who define the same crawl at once one makes it', async (t) => {
  const { as, db } = await testKnowledge(t)
  const put = () => as(member(1)).call(putCrawl, { params: { key: 'a' }, body: web })
  const replies = await Promise.all(Array.from({ length: 10 }, put))
  const statuses = replies.map(({ status }) => status)
  assert.deepEqual(statuses.toSorted(), [...new Array<number>(9).fill(200), 201])
  assert.equal((await db.selectFrom('crawls').selectAll().execute()).length, 1)
})

test('another url is due at once and is asked for afresh; another period counts from the last crawl', async (t) => {
  const { site, put, crawled, db } = await crawling(t)
  site.pages.set('/p', says(page('Foxes', 'A quick fox.', 60), { etag: '"1"' }))
  site.pages.set('/q', says(page('Dogs', 'A lazy dog.', 60), { etag: '"1"' }))
  await put({})
  const { source: first } = await crawled()
  const sooner = await put({ fetch_every_hours: 1 })
  const last = Date.parse(first.crawl?.last_attempt_at ?? '')
  assert.equal(Date.parse(sooner.source.crawl?.due_at ?? '') - last, 3_600_000)
  const other = await put({ url: site.at('/q') })
  assert.deepEqual(other.source.version, first.version)
  assert.equal(other.source.url, site.at('/q'))
  assert.ok(Date.parse(other.source.crawl?.due_at ?? '') <= Date.now())
  const kept = await db.selectFrom('crawls').select(['page_hash', 'etag', 'fetched_url']).execute()
  assert.deepEqual(kept, [{ page_hash: null, etag: null, fetched_url: null }])
  const second = await crawled()
  assert.deepEqual([second.outcome, second.source.title], ['changed', 'Dogs'])
  assert.equal(site.visits.at(-1)?.headers['if-none-match'], undefined)
})
