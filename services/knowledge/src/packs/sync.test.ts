import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { listSources, putSource } from '@guildhall/contracts/knowledge'
import { crawlDue, putCrawl } from '@guildhall/contracts/knowledge-crawls'
import {
  listPacks,
  type Pack,
  packSynced,
  syncCampus,
  syncOrgPack,
  syncPack,
} from '@guildhall/contracts/packs'
import { callOf } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { newId } from '@guildhall/service/id'
import { knowledgeSettings, testKnowledge } from '../testing.ts'
import { body, member, officer } from '../testing-bodies.ts'
import { page, says, testSite } from '../testing-site.ts'
import { packFolder } from './testing.ts'

const pack = { pack: 'school' }
const pageOf = (key: string, more = {}) => ({
  key,
  url: `http://site.test/${key}`,
  title: key,
  category: 'c',
  ...more,
})

/** knowledge with a pack of these pages; `again` starts it with others. */
async function syncing(t: TestContext, pages: object[]) {
  const { dir, put } = await packFolder(t)
  await put('school', { pages })
  const settings = { ...(await knowledgeSettings(t)), KNOWLEDGE_PACKS_DIR: dir }
  const knowledge = await testKnowledge(t, {}, settings)
  async function again(others: object[]) {
    await put('school', { pages: others })
    return testKnowledge(t, {}, settings)
  }
  return { ...knowledge, again }
}

type Knowledge = Awaited<ReturnType<typeof testKnowledge>>

async function sync({ as }: Pick<Knowledge, 'as'>, id = 2, publisher = false) {
  const reply = await as(member(id, { publisher })).call(syncPack, { params: pack })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

async function sourcesOf({ as }: Pick<Knowledge, 'as'>, id = 2) {
  const reply = await as(member(id)).call(listSources, { query: {} })
  assert.ok(reply.status === 200)
  return reply.body.sources
}

const countLines = async ({ db }: Pick<Knowledge, 'db'>) => {
  const lines = await db.selectFrom('outbox').select('payload').execute()
  return lines.filter(
    ({ payload }) => (payload as { action?: string }).action === packSynced.action,
  ).length
}

test('pages of a pack become crawled sources; again writes nothing, and what changed or left is told', async (t) => {
  const first = await syncing(t, [pageOf('a'), pageOf('b'), pageOf('c', { fetch_every_hours: 48 })])
  await first.as(member(2)).call(putCrawl, { params: { key: 'schools/x' }, body: pageOf('x') })
  assert.deepEqual(await sync(first), { added: 3, updated: 0, retired: 0 })
  assert.deepEqual(await sync(first), { added: 0, updated: 0, retired: 0 })
  assert.equal(await countLines(first), 1)
  const [a, , c] = await sourcesOf(first)
  assert.deepEqual(
    [a?.key, a?.url, a?.title, a?.category, a?.public, a?.crawl?.enabled],
    ['school/a', 'http://site.test/a', 'a', 'c', false, true],
  )
  assert.equal(c?.crawl?.fetch_every_hours, 48)
  const listed = await first.as(member(2)).call(listPacks, {})
  assert.ok(listed.status === 200 && listed.body.packs.at(-1)?.sources === 3)
  assert.deepEqual(await sourcesOf(first, 3), [])
  await first.stop()

  const second = await first.again([pageOf('a', { category: 'other' }), pageOf('c')])
  assert.deepEqual(await sync(second), { added: 0, updated: 2, retired: 1 })
  const now = await sourcesOf(second)
  assert.deepEqual(
    now.map(({ key, category, crawl }) => [
      key,
      category,
      crawl?.enabled,
      crawl?.fetch_every_hours,
    ]),
    [
      ['school/a', 'other', true, 24],
      ['school/b', 'c', false, 24],
      ['school/c', 'c', true, 24],
      ['schools/x', 'c', true, 24],
    ],
  )
  assert.deepEqual(await sync(second), { added: 0, updated: 0, retired: 0 })
})

test('a page that came back is on again; one that an officer turned off stays off', async (t) => {
  const first = await syncing(t, [pageOf('a'), pageOf('b')])
  await sync(first)
  const { title: _, key: __, ...b } = pageOf('b', { enabled: false, title: 'b' })
  const off = { ...b, title: 'b' }
  await first.as(member(2)).call(putCrawl, { params: { key: 'school/b' }, body: off })
  assert.deepEqual(await sync(first), { added: 0, updated: 0, retired: 0 })
  await first.stop()
  const second = await first.again([pageOf('b')])
  assert.deepEqual(await sync(second), { added: 0, updated: 0, retired: 1 })
  await second.stop()
  const third = await first.again([pageOf('a'), pageOf('b')])
  assert.deepEqual(await sync(third), { added: 0, updated: 1, retired: 0 })
  const states = (await sourcesOf(third)).map(({ key, crawl }) => [key, crawl?.enabled])
  assert.deepEqual(states, [
    ['school/a', true],
    ['school/b', false],
  ])
})

test('sources of a publisher are public, of any other org private', async (t) => {
  const knowledge = await syncing(t, [pageOf('a')])
  await sync(knowledge, 1, true)
  await sync(knowledge, 2)
  assert.equal((await sourcesOf(knowledge, 1))[0]?.public, true)
  assert.equal((await sourcesOf(knowledge, 2))[0]?.public, false)
  assert.deepEqual(await sync(knowledge, 1), { added: 0, updated: 1, retired: 0 })
  assert.equal((await sourcesOf(knowledge, 1))[0]?.public, false)
})

test('a key that a written source has refuses the whole sync; an unknown pack is 404', async (t) => {
  const knowledge = await syncing(t, [pageOf('a'), pageOf('b')])
  const agent = knowledge.as(member(2))
  await agent.call(putSource, { params: { key: 'school/b' }, body: body('fox') })
  const refused = await agent.call(syncPack, { params: pack })
  assert.ok(refused.status === 409 && refused.body.code === 'crawl.other_source')
  assert.match(refused.body.error, /school\/b/)
  assert.deepEqual(
    (await sourcesOf(knowledge)).map(({ key }) => key),
    ['school/b'],
  )
  const unknown = await agent.call(syncPack, { params: { pack: 'none' } })
  assert.ok(unknown.status === 404 && unknown.body.code === 'pack.not_found')
  const legacy = await agent.call(syncCampus, {})
  assert.deepEqual(legacy.body, { added: 0, updated: 0, retired: 0 })
})

test('ten syncs at once add each page once', async (t) => {
  const knowledge = await syncing(t, [pageOf('c'), pageOf('a'), pageOf('b')])
  const all = await Promise.all(Array.from({ length: 10 }, () => sync(knowledge)))
  assert.equal(
    all.reduce((sum, { added }) => sum + added, 0),
    3,
  )
  assert.equal((await sourcesOf(knowledge)).length, 3)
  assert.equal(await countLines(knowledge), 1)
})

test('officers sync and the crawl starts', async (t) => {
  const site = await testSite(t)
  site.pages.set('/a', says(page('A', 'Crawled from a pack.')))
  const knowledge = await syncing(t, [pageOf('a', { url: site.at('/a') })])
  const params = { org: 'org2', name: 'school' }
  const synced = await knowledge.as(officer(2)).call(syncOrgPack, { params })
  assert.deepEqual([synced.status, synced.body], [202, { added: 1, updated: 0, retired: 0 }])
  const asked = await knowledge.db.selectFrom('job_runs').select('job').execute()
  assert.deepEqual(
    asked.map(({ job }) => job),
    [crawlDue.name],
  )
})

test('an agent lists packs and syncs one by its tools, with the scope that each needs', async (t) => {
  const knowledge = await syncing(t, [pageOf('a')])
  const mcp = await busAs(t, { url: knowledge.settings.NATS_URL, peer: 'mcp' })
  async function use(name: string, input: Record<string, unknown>, scopes: string[]) {
    const tool = tools.find((one) => one.name === name) ?? assert.fail(name)
    const caller = { token_id: newId(), token_kind: 'agent' as const, name: 'helper', scopes }
    const org = { id: 2, prefix: 'org2', name: 'Org 2', modules: ['knowledge'], publisher: false }
    return (await ask(mcp, callOf(tool), { caller, org, input, preview: false })).answer
  }
  await assert.rejects(use('knowledge.sync_pack', pack, ['knowledge:read']), { kind: 'forbidden' })
  const done = await use('knowledge.sync_pack', pack, ['knowledge:write'])
  assert.deepEqual(done, { added: 1, updated: 0, retired: 0 })
  const { packs } = (await use('knowledge.packs', {}, ['knowledge:read'])) as { packs: Pack[] }
  assert.deepEqual([packs.at(-1)?.name, packs.at(-1)?.sources], ['school', 1])
  await assert.rejects(use('knowledge.sync_pack', { pack: 'none' }, ['knowledge:write']), {
    code: 'pack.not_found',
  })
})
