import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { firstErrorOf } from '@guildhall/bus/testing'
import { crawlDue, crawlOne, putCrawl, startReindex } from '@guildhall/contracts/knowledge-crawls'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { member, officer } from '../testing-bodies.ts'
import { crawling, sourceOf } from '../testing-crawls.ts'
import { page, says, type Visit } from '../testing-site.ts'
import { dueCrawls } from './queries.ts'

const FOX = page('Foxes', 'A quick fox jumps over the lazy dog.')
const GAP_MS = 150
const HOUR_MS = 3_600_000

/** Throws unless each request to a host began a gap after the one before it had ended. */
function checkGaps(visits: Visit[]) {
  for (const [host, all] of Map.groupBy(visits, (visit) => visit.host)) {
    for (const [n, { began, path }] of all.entries()) {
      const before = all[n - 1]
      if (!before) continue
      // the server sees the end of its answer later than knowledge does
      const gap = began - before.ended
      assert.ok(gap >= GAP_MS - 30, `${host}: ${path} came ${gap} ms after ${before.path}`)
    }
  }
}

test('a run crawls its batch, hosts side by side, one host one after the other and with its gap', async (t) => {
  const more = { KNOWLEDGE_CRAWL_BATCH: '6', KNOWLEDGE_CRAWL_GAP_SECONDS: `${GAP_MS / 1000}` }
  const { site, put, run, db } = await crawling(t, more)
  for (let n = 0; n < 4; n++) {
    site.pages.set(`/to${n}`, says('', { location: `/page${n}` }, 302))
    site.pages.set(`/page${n}`, says(FOX))
    for (const name of ['one', 'two'])
      await put({ url: site.at(`/to${n}`, `${name}.test`) }, `${name}${n}`)
  }
  const first = await run(crawlDue)
  assert.equal((first.result as { changed: number }).changed, 6)
  const left = await db
    .selectFrom('crawls')
    .select('source_id')
    .where('last_attempt_at', 'is', null)
    .execute()
  assert.equal(left.length, 2)
  checkGaps(site.visits)
  const [one = [], two = []] = [...Map.groupBy(site.visits, ({ host }) => host).values()]
  assert.ok((one.at(-1)?.ended ?? 0) > (two[0]?.began ?? 0), 'hosts do not wait for each other')
  const second = await run(crawlDue)
  assert.deepEqual((second.result as { changed: number }).changed, 2)
  assert.deepEqual((await run(crawlDue)).result, {
    changed: 0,
    unchanged: 0,
    failed: 0,
    resting: 0,
    not_taken: 0,
    lost: 0,
  })
})

test('two jobs at once keep the gap of a host between them, and crawl no source twice', async (t) => {
  const { site, put, run } = await crawling(t, {
    KNOWLEDGE_CRAWL_GAP_SECONDS: `${GAP_MS / 1000}`,
  })
  for (let n = 0; n < 3; n++) {
    site.pages.set(`/page${n}`, says(FOX))
    await put({ url: site.at(`/page${n}`) }, `p${n}`)
  }
  const byHand = [0, 1, 2].map((n) => run(crawlOne, { org_id: 1, key: `p${n}` }))
  await Promise.all([run(crawlDue), ...byHand])
  checkGaps(site.visits)
})

test('never tried comes first, then who waits longest; failures come again later and later, up to the period', async (t) => {
  const clock = { now: new Date() }
  const options = { now: () => clock.now }
  const { site, put, run, db, as } = await crawling(t, { KNOWLEDGE_CRAWL_BATCH: '1' }, options)
  const pass = (ms: number) => {
    clock.now = new Date(clock.now.getTime() + ms)
  }
  await put({ fetch_every_hours: 1 })
  const waits: number[] = []
  for (let n = 0; n < 5; n++) {
    await run(crawlDue)
    const { crawl } = await sourceOf({ as }, 'p')
    assert.match(crawl?.last_error ?? '', /answered 404/)
    waits.push((Date.parse(crawl?.due_at ?? '') - clock.now.getTime()) / 60_000)
    pass(waits.at(-1) === undefined ? 0 : (waits.at(-1) ?? 0) * 60_000)
  }
  assert.deepEqual(waits, [10, 20, 40, 60, 60])
  pass(HOUR_MS)
  await put({ url: site.at('/new') }, 'new')
  pass(1)
  await put({ url: site.at('/off'), enabled: false }, 'off')
  const seen = site.paths().length
  await run(crawlDue)
  await run(crawlDue)
  await run(crawlDue)
  assert.deepEqual(
    site
      .paths()
      .slice(seen)
      .filter((path) => path !== '/robots.txt'),
    ['/new', '/p'],
  )
  site.pages.set('/p', says(FOX))
  pass(HOUR_MS)
  await run(crawlDue)
  await run(crawlDue)
  const { crawl, version } = await sourceOf({ as }, 'p')
  assert.ok(version && crawl?.last_error === null)
  const kept = await db.selectFrom('crawls').select('failures').orderBy('failures').execute()
  assert.deepEqual(
    kept.map(({ failures }) => failures),
    [0, 0, 2],
  )
})

test('an org that is not active is not crawled, and keeps no other from its turn; one that is purged is gone', async (t) => {
  const { site, put, run, as, db, auth, setActive } = await crawling(t, {
    KNOWLEDGE_CRAWL_BATCH: '1',
  })
  site.pages.set('/p', says(FOX))
  await put({})
  const other = { category: 'web', url: site.at('/other') }
  await as(member(2)).call(putCrawl, { params: { key: 'b' }, body: other })
  await setActive(1, false)
  await run(crawlDue)
  await run(crawlDue)
  assert.deepEqual(site.paths(), ['/robots.txt', '/other'])
  await setActive(1, true)
  await until(async () => {
    await run(crawlDue)
    return site.paths().includes('/p')
  })
  await ask(auth, purgeOrgOf('knowledge'), { org_id: 1 })
  assert.equal((await db.selectFrom('crawls').selectAll().execute()).length, 1)
})

test('a reindex crawls what is enabled with force; one that fails stops no other', async (t) => {
  const { site, put, crawled, as, db } = await crawling(t)
  const keys = ['a', 'b', 'c', 'off']
  for (const key of keys) {
    site.pages.set(`/${key}`, says(FOX))
    await put({ url: site.at(`/${key}`), enabled: key !== 'off' }, key)
    await crawled(false, key)
  }
  site.pages.delete('/b')
  const versions = () =>
    Promise.all(keys.map(async (key) => (await sourceOf({ as }, key)).version?.id))
  const before = await versions()
  const reply = await as(officer(1)).call(startReindex, { params: { org: 'org1' } })
  assert.deepEqual([reply.status, reply.body], [202, { queued: true }])
  const [done] = await until(async () => {
    const runs = await db
      .selectFrom('job_runs')
      .selectAll()
      .where('job', '=', 'knowledge.reindex')
      .execute()
    return runs.every(({ finished_at }) => finished_at) && runs
  }, 20_000)
  assert.deepEqual(done?.result, {
    changed: 2,
    unchanged: 0,
    failed: 1,
    resting: 0,
    not_taken: 0,
    lost: 0,
  })
  const after = await versions()
  assert.deepEqual(
    after.map((id, n) => id !== before[n]),
    [true, false, true, false],
  )
  const noted = await db.selectFrom('runs').select('error').execute()
  assert.deepEqual([noted.length, noted.filter(({ error }) => error).length], [7, 1])
})

test('an org with much due leaves others their turn, and of one host a run takes twenty pages', async (t) => {
  const { site, put, db, as } = await crawling(t)
  for (let n = 0; n < 25; n++) await put({ url: site.at(`/a${n}`, 'Shared.test') }, `a${n}`)
  await put({ url: site.at('/own', 'own.test') }, 'own')
  for (const [n, org] of [2, 2, 3].entries()) {
    const crawl = { category: 'web', url: site.at(`/b${n}`, 'shared.test.') }
    await as(member(org)).call(putCrawl, { params: { key: `b${n}` }, body: crawl })
  }
  const now = new Date(Date.now() + HOUR_MS)
  const due = async (limit: number) => {
    const found = await dueCrawls(db, [1, 2, 3], now, limit)
    return found.map(({ org_id, url }) => `${org_id}${new URL(url).pathname}`)
  }
  assert.deepEqual(await due(6), ['1/a0', '2/b0', '3/b2', '1/a1', '2/b1', '1/a2'])
  const all = await due(100)
  assert.equal(all.length, 21)
  assert.equal(all.at(-1), '1/own')
  assert.deepEqual(await dueCrawls(db, [], now, 6), [])
})

test('a crawl that fails by a fault of ours is an error of its org, whichever job crawls', async (t) => {
  const { site, put, run, db, settings } = await crawling(t)
  site.pages.set('/p', says(FOX))
  await put({})
  await sql`alter table settings rename to lost`.execute(db)
  assert.equal(((await run(crawlDue)).result as { failed: number }).failed, 1)
  const { org_id, message } = await firstErrorOf(t, { url: settings.NATS_URL, peer: 'knowledge' })
  assert.equal(org_id, 1, message)
})
