import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crawlOne } from '@guildhall/contracts/knowledge-crawls'
import { listKnowledgeRuns } from '@guildhall/contracts/knowledge-settings'
import { officer } from '../testing-bodies.ts'
import { crawling } from '../testing-crawls.ts'
import { page, says } from '../testing-site.ts'

const FOX = page('Foxes', 'A quick fox jumps over the lazy dog.')
const DAY_SECONDS = 24 * 60 * 60
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString()

test('a pause that a site asks for is kept, in seconds or as a date, a day at most, and stands in the run log', async (t) => {
  const { site, put, crawled, as } = await crawling(t)
  for (const [name, status, header, seconds] of [
    ['busy', 429, '7200', 7200],
    ['down', 503, inSeconds(7200), 7200],
    ['ever', 503, '99999999', DAY_SECONDS],
    ['vague', 429, 'later', 600],
    ['past', 429, inSeconds(-60), 600],
    ['fault', 500, '7200', 600],
  ] as const) {
    site.pages.set(`/${name}`, says('', { 'retry-after': header }, status))
    await put({ url: site.at(`/${name}`, `${name}.test`), fetch_every_hours: 1 }, name)
    const { source } = await crawled(false, name)
    const { due_at, last_attempt_at, last_error } = source.crawl ?? {}
    const wait = (Date.parse(due_at ?? '') - Date.parse(last_attempt_at ?? '')) / 1000
    assert.ok(Math.abs(wait - seconds) < 30, `${name}: ${wait}`)
    const told = /It asked for \d+ seconds without crawls\.$/.test(last_error ?? '')
    assert.equal(told, seconds > 600, `${last_error}`)
  }
  const params = { org: 'org1' }
  const runs = await as(officer(1)).call(listKnowledgeRuns, { params, query: { failed: '1' } })
  assert.ok(runs.status === 200)
  const noted = runs.body.runs.find(({ source_key }) => source_key === 'busy')
  assert.match(noted?.error ?? '', /answered 429.*It asked for 7200 seconds/)
})

test('during its pause a host is not asked for other pages either, which counts as no failure; other hosts are', async (t) => {
  const { site, put, crawled, db, stop, restart } = await crawling(t)
  site.pages.set('/busy', says('', { 'retry-after': '3600' }, 429))
  for (const path of ['/a', '/b']) site.pages.set(path, says(FOX))
  await put({ url: site.at('/busy') }, 'busy')
  await put({ url: site.at('/a') }, 'a')
  await put({ url: site.at('/b', 'other.test') }, 'b')
  await crawled(false, 'busy')
  const { outcome, source } = await crawled(true, 'a')
  assert.deepEqual([outcome, source.crawl?.last_error], ['resting', null])
  const { due_at, last_attempt_at } = source.crawl ?? {}
  const wait = (Date.parse(due_at ?? '') - Date.parse(last_attempt_at ?? '')) / 1000
  assert.ok(wait > 3500 && wait < 3630, `${wait}`)
  assert.equal((await crawled(false, 'b')).outcome, 'changed')
  assert.ok(!site.paths().includes('/a'))
  const noted = () => db.selectFrom('runs').select('source_key').orderBy('id').execute()
  const keys = (await noted()).map(({ source_key }) => source_key)
  assert.deepEqual(keys, ['busy', 'b'])

  await stop()
  const again = await restart() // that knows no robots.txt
  const { result } = await again.run(crawlOne, { org_id: 1, key: 'a', force: true })
  assert.deepEqual(result, { outcome: 'resting' })
  const { failures } = await db
    .selectFrom('crawls')
    .select('failures')
    .where('source_id', '=', source.id)
    .executeTakeFirstOrThrow()
  assert.equal(failures, 0)
})

test('a pause asked for with robots.txt counts as well', async (t) => {
  const { site, put, crawled } = await crawling(t)
  site.pages.set('/robots.txt', says('', { 'retry-after': '5400' }, 503))
  await put({})
  const { source } = await crawled()
  const { due_at, last_attempt_at, last_error } = source.crawl ?? {}
  assert.match(last_error ?? '', /robots\.txt of .* cannot be read.*answered 503/)
  const wait = (Date.parse(due_at ?? '') - Date.parse(last_attempt_at ?? '')) / 1000
  assert.ok(Math.abs(wait - 5400) < 30, `${wait}`)
})
