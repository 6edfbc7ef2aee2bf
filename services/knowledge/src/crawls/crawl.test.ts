import assert from 'node:assert/strict'
import { test } from 'node:test'
import { search, sourceWritten } from '@guildhall/contracts/knowledge'
import { crawlWritten, runCrawl } from '@guildhall/contracts/knowledge-crawls'
import { listKnowledgeRuns } from '@guildhall/contracts/knowledge-settings'
import { until } from '@guildhall/service/testing'
import { member, officer } from '../testing-bodies.ts'
import { crawling, sourceOf, textOf } from '../testing-crawls.ts'
import { page, says } from '../testing-site.ts'

const FOX = page('Foxes', 'A quick fox jumps over the lazy dog.')

test('a page is crawled, found, logged and audited; the same definition again writes nothing', async (t) => {
  const crawls = await crawling(t)
  const { as, db, site, put } = crawls
  site.pages.set('/p', says(FOX))
  const { status, source } = await put({})
  assert.equal(status, 201)
  assert.ok(source.crawl?.enabled && source.crawl.due_at !== null && source.version === null)
  const asked = await as(member(1)).call(runCrawl, { body: { key: 'p' } })
  assert.deepEqual([asked.status, asked.body], [202, { queued: true }])
  const done = await until(async () => {
    const found = await sourceOf(crawls, 'p')
    return found.version && found
  })
  assert.deepEqual([done.title, done.url, done.category], ['Foxes', site.at('/p'), 'web'])
  assert.equal(done.crawl?.last_error, null)
  const nextIn =
    Date.parse(done.crawl?.due_at ?? '') - Date.parse(done.crawl?.last_attempt_at ?? '')
  assert.ok(Math.abs(nextIn - 24 * 3_600_000) < 60_000, `${nextIn}`)
  const found = await as(member(1)).call(search, { body: { query: 'foxes' } })
  assert.ok(found.status === 200 && found.body.results.length > 1)
  for (const { content } of found.body.results) assert.match(content, /^Foxes\n/)
  assert.doesNotMatch(await textOf(crawls), /Imprint|Footer|var x/)
  assert.deepEqual(site.paths(), ['/robots.txt', '/p'])
  for (const { headers } of site.visits)
    assert.equal(headers['user-agent'], 'PlatformKnowledgeBot/1.0')

  const runs = await as(officer(1)).call(listKnowledgeRuns, { params: { org: 'org1' } })
  assert.ok(runs.status === 200)
  const [run] = runs.body.runs
  assert.deepEqual(
    [run?.source_key, run?.kind, run?.changed, run?.chunks, run?.error],
    ['p', 'crawl', true, done.version?.chunk_count, null],
  )
  const again = await put({})
  assert.deepEqual([again.status, again.source], [200, done])
  const lines = await db.selectFrom('outbox').select('payload').orderBy('id').execute()
  const said = lines.map(({ payload }) => payload as { action: string; actor_kind: string })
  assert.equal(said.filter(({ action }) => action === crawlWritten.action).length, 1)
  const written = said.filter(({ action }) => action === sourceWritten.action)
  assert.deepEqual(
    written.map(({ actor_kind }) => actor_kind),
    ['job'],
  )
})

test('an unchanged page is neither read again where the site says so, nor written; force writes it anew', async (t) => {
  const { site, put, crawled } = await crawling(t)
  const since = 'Sat, 21 Nov 2026 10:00:00 GMT'
  site.pages.set('/p', (request, response) => {
    const asked = [request.headers['if-none-match'], request.headers['if-modified-since']]
    if (asked[0] === '"v1"' && asked[1] === since) return response.writeHead(304).end()
    response.writeHead(200, { 'content-type': 'text/html', etag: '"v1"', 'last-modified': since })
    response.end(FOX)
  })
  await put({})
  const first = await crawled()
  assert.equal(first.outcome, 'changed')
  const second = await crawled()
  assert.deepEqual([second.outcome, second.source.version], ['unchanged', first.source.version])
  assert.equal(second.source.crawl?.last_error, null)
  const forced = await crawled(true)
  assert.equal(forced.outcome, 'changed')
  assert.notEqual(forced.source.version?.id, first.source.version?.id)
  assert.equal(site.visits.at(-1)?.headers['if-none-match'], undefined)

  site.pages.set('/p', says(FOX.replace('<script>', '<script>/* token 123 */')))
  const other = await crawled()
  assert.deepEqual([other.outcome, other.source.version], ['unchanged', forced.source.version])
  assert.equal(site.paths().filter((path) => path === '/robots.txt').length, 1)
})

test('robots.txt is kept to, also for where a page redirects; a site that cannot say is not crawled', async (t) => {
  const { site, put, crawled } = await crawling(t, { KNOWLEDGE_USER_AGENT: 'Badger/2.0' })
  const rules = 'User-agent: *\nDisallow: /\n\nUser-agent: badger\nDisallow: /secret\n'
  site.pages.set('/robots.txt', says(rules, { 'content-type': 'text/plain' }))
  for (const path of ['/open', '/secret']) site.pages.set(path, says(FOX))
  site.pages.set('/away', says('', { location: '/secret' }, 302))
  await put({ url: site.at('/open') })
  assert.equal((await crawled()).outcome, 'changed')
  for (const path of ['/secret', '/away']) {
    await put({ url: site.at(path) })
    const { outcome, source } = await crawled()
    assert.equal(outcome, 'failed')
    assert.match(source.crawl?.last_error ?? '', /robots\.txt of site\.test:\d+ forbids Badger/)
    assert.ok(source.version)
  }
  assert.ok(!site.paths().includes('/secret'))

  for (const [name, answer] of [
    ['down.test', says('', {}, 503)],
    ['busy.test', says('', {}, 429)],
  ] as const) {
    site.pages.set('/robots.txt', answer)
    await put({ url: site.at('/open', name) })
    const { outcome, source } = await crawled()
    assert.equal(outcome, 'failed', name)
    assert.match(source.crawl?.last_error ?? '', /robots\.txt of .* cannot be read/, name)
  }
  site.pages.set('/robots.txt', says('', { location: 'http://10.0.0.1/robots.txt' }, 302))
  await put({ url: site.at('/open', 'private.test') })
  const { source } = await crawled()
  const refusal =
    /^This URL is not fetched: private\.test:\d+ leads to an address that is not on the public internet$/
  assert.match(source.crawl?.last_error ?? '', refusal)

  for (const [name, answer] of [
    ['none.test', says('', {}, 404)],
    ['closed.test', says('', {}, 403)],
    ['loop.test', says('', { location: '/robots.txt' }, 301)],
  ] as const) {
    site.pages.set('/robots.txt', answer)
    await put({ url: site.at('/open', name) })
    assert.notEqual((await crawled()).outcome, 'failed', name)
  }
})

test('a text that shrank by more than half is refused until it is forced', async (t) => {
  const { site, put, crawled } = await crawling(t)
  site.pages.set('/p', says(page('Long', 'The quick brown fox jumps.', 60)))
  await put({})
  const { source: before } = await crawled()
  site.pages.set('/p', says(page('Long', 'Sorry, an error.', 10)))
  const refused = await crawled()
  assert.equal(refused.outcome, 'failed')
  assert.match(refused.source.crawl?.last_error ?? '', /less than half.*force/)
  assert.deepEqual(refused.source.version, before.version)
  assert.equal((await crawled()).outcome, 'failed') // and still
  assert.equal((await crawled(true)).outcome, 'changed')
  site.pages.set('/p', says(page('Long', 'Short again, and allowed to shrink.', 3)))
  assert.equal((await crawled()).outcome, 'changed') // the last text was below 500 characters
})
