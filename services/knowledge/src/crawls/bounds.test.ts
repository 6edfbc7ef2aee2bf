import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { crawlDue, reindex } from '@guildhall/contracts/knowledge-crawls'
import { until } from '@guildhall/service/testing'
import { crawling, sourceOf } from '../testing-crawls.ts'
import { testEmbedder } from '../testing-embedder.ts'
import { page, says } from '../testing-site.ts'

const FOX = page('Foxes', 'A quick fox jumps over the lazy dog.')
const MINUTE_MS = 60_000

test('robots.txt of the page and of where it leads takes of the time of the page', async (t) => {
  const options = { bounds: { timeoutMs: 1_000 } }
  const { site, put, crawled } = await crawling(t, {}, options)
  site.pages.set('/robots.txt', async (_, response) => {
    await wait(400) // a slow server
    response.writeHead(404).end()
  })
  for (let n = 0; n < 5; n++)
    site.pages.set(`/p${n}`, says('', { location: site.at(`/p${n + 1}`, `h${n}.test`) }, 302))
  site.pages.set('/p5', says(FOX))
  await put({ url: site.at('/p0') })
  const { outcome, source } = await crawled()
  assert.equal(outcome, 'failed')
  assert.match(source.crawl?.last_error ?? '', /did not answer within \d+ ms$/)
  assert.ok(site.paths().filter((path) => path === '/robots.txt').length <= 3)

  await put({ url: site.at('/p5', 'h1.test') }) // it had no time left for this one: that says nothing of the site
  assert.equal((await crawled()).outcome, 'changed')
})

test('a crawl whose embedder hangs ends at its deadline, with what it had before', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const held = Promise.withResolvers<void>()
  t.after(() => held.resolve())
  const { site, put, crawled } = await crawling(t, settings, { bounds: { crawlMs: 2_000 } })
  site.pages.set('/p', says(FOX))
  await put({})
  assert.equal((await crawled()).outcome, 'changed')
  world.held = held.promise
  const { outcome, source } = await crawled(true)
  assert.equal(outcome, 'failed')
  assert.match(source.crawl?.last_error ?? '', /took longer than 2 seconds/)
  assert.ok(source.version)
})

test('a run begins no page after eight minutes; the next one goes on, and a reindex with what it had not begun', async (t) => {
  const clock = { ms: Date.now() }
  const now = () => new Date(clock.ms)
  const knowledge = await crawling(t, {}, { now })
  const { site, put, run, db } = knowledge
  const slow = says(FOX)
  for (const n of [0, 1, 2, 3]) {
    site.pages.set(`/${n}`, (request, response) => {
      clock.ms += 5 * MINUTE_MS
      slow(request, response)
    })
    await put({ url: site.at(`/${n}`) }, `${n}`)
  }
  const changed = async () => (await run(crawlDue)).result as { changed: number }
  assert.equal((await changed()).changed, 2)
  assert.equal((await changed()).changed, 2)

  clock.ms += MINUTE_MS
  const first = await run(reindex, { org_id: 1 })
  const { continued_by } = first.result as { continued_by?: string }
  assert.ok(continued_by)
  await until(async () => {
    const left = await db
      .selectFrom('job_runs')
      .select('id')
      .where('finished_at', 'is', null)
      .execute()
    return left.length === 0
  }, 20_000)
  assert.equal(site.visits.filter(({ path }) => path !== '/robots.txt').length, 8)
  for (const n of [0, 1, 2, 3])
    assert.equal((await sourceOf(knowledge, `${n}`)).crawl?.last_error, null)
})
