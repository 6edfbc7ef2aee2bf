import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { search } from '@guildhall/contracts/knowledge'
import { crawlDue, crawlOne } from '@guildhall/contracts/knowledge-crawls'
import { startJob } from '@guildhall/contracts/ops'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { member } from '../testing-bodies.ts'
import { crawling, sourceOf } from '../testing-crawls.ts'
import { testEmbedder } from '../testing-embedder.ts'
import { knowledgeProcess } from '../testing-process.ts'
import { page, says } from '../testing-site.ts'

test('killed between the fetch and the write of a page, nothing is half written and the next run crawls it', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const crawls = await crawling(t, settings)
  crawls.site.pages.set('/p', says(page('Foxes', 'A quick fox jumps over the lazy dog.')))
  await crawls.put({})
  await crawls.stop()

  const held = Promise.withResolvers<void>()
  t.after(() => held.resolve())
  world.held = held.promise
  const { child } = await knowledgeProcess(t, crawls.settings, 'testing-entry.ts')
  const args = { org_id: 1, key: 'p' }
  await ask(crawls.bus, startJob('knowledge'), { id: newId(), job: crawlOne.name, args })
  await until(() => world.asked.length > 0, 30_000) // the page was fetched and is not written yet
  child.kill('SIGKILL')
  await once(child, 'exit')
  const { db } = crawls
  const rows = async (table: 'versions' | 'chunks' | 'runs') =>
    (await db.selectFrom(table).select('id').execute()).length
  assert.deepEqual([await rows('versions'), await rows('chunks'), await rows('runs')], [0, 0, 0])
  const left = await db.selectFrom('crawls').selectAll().executeTakeFirstOrThrow()
  assert.ok(left.lease_id)
  assert.deepEqual([left.page_hash, left.last_error, left.failures], [null, null, 0])

  held.resolve()
  world.held = undefined
  await db.updateTable('crawls').set({ leased_until: sql<Date>`now()` }).execute() // a minute later
  const next = await crawls.restart()
  const { result } = await next.run(crawlDue)
  assert.equal((result as { changed: number }).changed, 1)
  assert.equal(await rows('versions'), 1)
  assert.equal((await sourceOf(next, 'p')).crawl?.last_error, null)
  const found = await next.as(member(1)).call(search, { body: { query: 'fox' } })
  assert.ok(found.status === 200 && found.body.results.length > 0)
})
