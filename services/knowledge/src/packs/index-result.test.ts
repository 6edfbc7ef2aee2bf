import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { listSources, search } from '@guildhall/contracts/knowledge'
import { crawlOne } from '@guildhall/contracts/knowledge-crawls'
import { indexPackResult, queryPack, syncPack } from '@guildhall/contracts/packs'
import { until } from '@guildhall/service/testing'
import { testKnowledge } from '../testing.ts'
import { member } from '../testing-bodies.ts'
import { textOf } from '../testing-crawls.ts'
import { page, says, testSite } from '../testing-site.ts'
import { packFolder } from './testing.ts'

const PUBLISHER = { publisher: true }

async function indexing(t: TestContext) {
  const site = await testSite(t)
  const { dir, put } = await packFolder(t)
  const query = { description: 'Q.', category: 'food' }
  const day = { name: 'day', description: 'Day' }
  const url = site.at('/hall')
  await put('school', {
    pages: [{ key: 'hall', url, title: 'The hall', category: 'halls' }],
    queries: [
      { ...query, key: 'hall', url },
      { ...query, key: 'menu', url: site.at('/menu?day={day}'), params: [day] },
      { ...query, key: 'secret', url: site.at('/menu'), index: false },
    ],
  })
  const settings = { KNOWLEDGE_PACKS_DIR: dir, KNOWLEDGE_CRAWL_GAP_SECONDS: '0' }
  const knowledge = await testKnowledge(t, settings)
  const { as, db } = knowledge
  const agent = as(member(1, PUBLISHER))
  const asked = async (source: string, params = {}) => {
    const reply = await agent.call(queryPack, {
      params: { pack: 'school' },
      body: { source, params },
    })
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
  }
  /** What became of the jobs, once all are over. */
  const outcomes = () =>
    until(async () => {
      const runs = await db
        .selectFrom('job_runs')
        .select(['state', 'result', 'finished_at'])
        .where('job', '=', indexPackResult.name)
        .orderBy('queued_at')
        .execute()
      return (
        runs.every(({ finished_at }) => finished_at) &&
        runs.map(({ result }) => result as { outcome: string; key: string })
      )
    }, 20_000)
  const sources = async () => {
    const reply = await agent.call(listSources, { query: {} })
    assert.ok(reply.status === 200)
    return reply.body.sources
  }
  return { ...knowledge, site, agent, asked, outcomes, sources }
}

test('an answer becomes a source that searches find, once for each question, and the same text is not written again', async (t) => {
  const { site, asked, outcomes, sources, agent, db } = await indexing(t)
  site.pages.set('/menu', says(page('Menu', 'Leek soup of the badgers.')))
  await asked('menu', { day: 'monday' })
  const [first] = await outcomes()
  assert.equal(first?.outcome, 'changed')
  assert.match(first.key, /^school-live\/menu-[0-9a-f]{16}$/)
  const [source] = await sources()
  assert.deepEqual(
    [source?.key, source?.title, source?.category, source?.public, source?.crawl],
    [first.key, 'Menu (day: monday)', 'food', false, null],
  )
  assert.equal(source?.url, site.at('/menu?day=monday'))
  const found = await agent.call(search, { body: { query: 'leek badgers' } })
  assert.ok(found.status === 200 && found.body.results[0]?.source_key === first.key)

  await asked('menu', { day: 'monday' })
  await asked('menu', { day: 'friday' })
  await asked('secret')
  const [, same, other, ...more] = await outcomes()
  assert.deepEqual([same, more], [{ outcome: 'unchanged', key: first.key }, []])
  assert.ok(other?.outcome === 'changed' && other.key !== first.key)
  const after = await sources()
  assert.equal(after.length, 2)
  assert.deepEqual(after.find(({ key }) => key === first.key)?.version, source?.version)
  assert.deepEqual(await db.selectFrom('pack_results').selectAll().execute(), [])
})

test('an answer with the address of a page of the pack becomes that page, as its crawl would read it', async (t) => {
  const { site, asked, outcomes, sources, agent, run, ...knowledge } = await indexing(t)
  site.pages.set('/hall', says(page('Hall', 'Open until nine.'), { etag: '"1"' }))
  await agent.call(syncPack, { params: { pack: 'school' } })
  await run(crawlOne, { org_id: 1, key: 'school/hall' })
  const [crawled] = await sources()
  await asked('hall')
  assert.deepEqual(await outcomes(), [{ outcome: 'unchanged', key: 'school/hall' }])

  site.pages.set('/hall', says(page('Hall', 'Open until ten.'), { etag: '"2"' }))
  await asked('hall')
  assert.deepEqual((await outcomes())[1], { outcome: 'changed', key: 'school/hall' })
  const [read, ...more] = await sources()
  assert.ok(read && more.length === 0)
  assert.notEqual(read.version?.id, crawled?.version?.id)
  assert.deepEqual([read.title, read.category, read.public], ['The hall', 'halls', true])
  assert.match(await textOf(knowledge, 'school/hall'), /Open until ten/)
  const again = await run(crawlOne, { org_id: 1, key: 'school/hall' })
  assert.deepEqual(again.result, { outcome: 'unchanged' })

  site.pages.set('/hall', says(page('Hall', 'Open until eleven at night.', 60)))
  await asked('hall')
  assert.equal((await outcomes())[2]?.outcome, 'changed')
  site.pages.set('/hall', says(page('Hall', 'Sorry, a fault.', 12)))
  await asked('hall')
  assert.equal((await outcomes())[3]?.outcome, 'shrunk')
  assert.match(await textOf(knowledge, 'school/hall'), /Open until eleven/)
})

test('an answer of an org that is not active any more is dropped', async (t) => {
  const { site, asked, outcomes, setActive, db, sources } = await indexing(t)
  site.pages.set('/menu', says(page('Menu', 'Leek soup.')))
  await setActive(1, false)
  await asked('menu')
  assert.deepEqual(await outcomes(), [{ outcome: 'gone' }])
  assert.deepEqual(await sources(), [])
  assert.deepEqual(await db.selectFrom('pack_results').selectAll().execute(), [])
})
