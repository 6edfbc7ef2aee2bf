import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteSource, getSource, search } from '@guildhall/contracts/knowledge'
import { crawlOne, runCrawl } from '@guildhall/contracts/knowledge-crawls'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { member } from '../testing-bodies.ts'
import { crawling, sourceOf } from '../testing-crawls.ts'
import { testEmbedder } from '../testing-embedder.ts'
import { page, says } from '../testing-site.ts'
import { endLease, takeLease } from './leases.ts'
import { crawlByKey } from './queries.ts'

type Crawling = Awaited<ReturnType<typeof crawling>>
const FOX = page('Foxes', 'A quick fox jumps over the lazy dog.')

/** A crawl whose page hangs until it is let go. */
async function inHand({ as, site }: Pick<Crawling, 'as' | 'site'>) {
  const held = Promise.withResolvers<void>()
  site.pages.set('/p', async (_, response) => {
    await held.promise
    says(FOX)(_, response)
  })
  await as(member(1)).call(runCrawl, { body: { key: 'p' } })
  await until(() => site.paths().includes('/p'))
  return held.resolve
}

const runs = ({ db }: Pick<Crawling, 'db'>) => db.selectFrom('runs').selectAll().execute()
const over = ({ db }: Pick<Crawling, 'db'>) =>
  until(async () => {
    const all = await db
      .selectFrom('job_runs')
      .selectAll()
      .where('job', '=', crawlOne.name)
      .execute()
    return all.every(({ finished_at }) => finished_at) && all
  }, 20_000)

test('of ten processes that want to crawl a source one gets it, until it ends or its lease does', async (t) => {
  const { db, put } = await crawling(t)
  await put({})
  const id = (await crawlByKey(db, 1, 'p')) ?? ''
  const take = () => takeLease(db, id, new Date())
  const [lease, ...others] = (await Promise.all(Array.from({ length: 10 }, take))).filter(Boolean)
  assert.ok(lease && others.length === 0)
  await db.updateTable('crawls').set({ leased_until: sql<Date>`now()` }).execute()
  const heir = await take()
  assert.ok(heir)
  const end = (mine: typeof heir) => db.transaction().execute((trx) => endLease(trx, mine, {}))
  assert.deepEqual([await end(lease), await end(heir), await end(heir)], [false, true, false])
})

test('a crawl that another overtook after its process seemed dead writes nothing', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const crawls = await crawling(t, settings)
  const { db, put, site } = crawls
  await put({})
  const held = Promise.withResolvers<void>()
  world.held = held.promise
  site.pages.set('/p', says(FOX))
  await crawls.as(member(1)).call(runCrawl, { body: { key: 'p' } })
  await until(() => world.asked.length > 0) // between the fetch and the write
  await db.updateTable('crawls').set({ leased_until: sql<Date>`now()` }).execute()
  const id = (await crawlByKey(db, 1, 'p')) ?? ''
  const heir = await takeLease(db, id, new Date())
  assert.ok(heir)
  held.resolve()
  world.held = undefined
  const message = await until(async () => {
    const [run] = await db
      .selectFrom('job_runs')
      .selectAll()
      .where('job', '=', crawlOne.name)
      .execute()
    return run && run.attempts > 1
  }, 20_000)
  assert.ok(message)
  assert.equal((await sourceOf(crawls, 'p')).version, null)
  assert.deepEqual(await runs(crawls), [])
  await db.transaction().execute((trx) => endLease(trx, heir, {}))
  await over(crawls)
  assert.ok((await sourceOf(crawls, 'p')).version) // the queued crawl comes again
})

test('a source deleted during its crawl stays deleted, and nothing is noted', async (t) => {
  const crawls = await crawling(t)
  await crawls.put({})
  const letGo = await inHand(crawls)
  const { as } = crawls
  assert.equal((await as(member(1)).call(deleteSource, { params: { key: 'p' } })).status, 200)
  letGo()
  const [run] = await over(crawls)
  assert.equal(run?.state, 'done')
  assert.equal((await as(member(1)).call(getSource, { params: { key: 'p' } })).status, 404)
  assert.deepEqual(await runs(crawls), [])
  assert.deepEqual(await crawls.db.selectFrom('versions').selectAll().execute(), [])
})

test('a crawl defined anew meanwhile is not written as it was defined before', async (t) => {
  const crawls = await crawling(t)
  crawls.site.pages.set('/q', says(page('Dogs', 'A lazy dog sleeps all the day.')))
  await crawls.put({})
  const letGo = await inHand(crawls)
  await crawls.put({ url: crawls.site.at('/q') })
  letGo()
  await over(crawls)
  assert.equal((await sourceOf(crawls, 'p')).title, 'Dogs')
  const found = await crawls.as(member(1)).call(search, { body: { query: 'fox' } })
  assert.ok(found.status === 200 && found.body.results.length === 0)
})

test('cut off by a stop between the fetch and the write, a crawl is done again at the next start', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const crawls = await crawling(t, settings)
  await crawls.put({})
  crawls.site.pages.set('/p', (_, response) => void response.writeHead(200).write('<p>'))
  await crawls.as(member(1)).call(runCrawl, { body: { key: 'p' } })
  await until(() => crawls.site.paths().includes('/p'))
  await crawls.stop()
  const [left] = await crawls.db.selectFrom('crawls').selectAll().execute()
  assert.deepEqual([left?.lease_id, left?.last_error], [null, null])
  crawls.site.pages.set('/p', says(FOX))
  const again = await crawls.restart()
  await over(crawls)
  assert.ok((await sourceOf(again, 'p')).version)
  assert.ok(world.asked.length > 0)
})
