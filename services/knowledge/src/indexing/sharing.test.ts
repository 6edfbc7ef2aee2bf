import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { quietLog } from '@guildhall/bus/testing'
import { putSource } from '@guildhall/contracts/knowledge'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import { cleanUp } from '@guildhall/service/testing'
import type { Tables } from '../db.ts'
import { openEmbedded } from '../search/embedded.ts'
import type { Engine } from '../search/engine.ts'
import { openGenerations } from '../search/generations.ts'
import type { PassageIndex } from '../search/index.ts'
import { knowledgeSettings, testKnowledge } from '../testing.ts'
import { body, member } from '../testing-bodies.ts'
import { createIndexer } from './indexer.ts'
import { markAllStale } from './queries.ts'
import { rebuildIndex } from './rebuild.ts'
import { openSourceLocks } from './source-lock.ts'

const log = quietLog
const all = { org: 1, publishers: [], query: 'fox', limit: 50 }

/** Processes that share a database and an engine: here an index of this process, opened once for all. */
async function processes(t: TestContext, count: number) {
  const settings = await knowledgeSettings(t)
  const knowledge = await testKnowledge(t, {}, settings)
  for (let n = 0; n < 12; n++)
    await knowledge
      .as(member(1))
      .call(putSource, { params: { key: `k${n}` }, body: body(`fox ${n}`) })
  await knowledge.stop()
  const opened = new Map<string, Promise<PassageIndex>>()
  const open = (name: string) => {
    const index =
      opened.get(name) ??
      openEmbedded({ dir: join(settings.KNOWLEDGE_INDEX_DIR, 'shared', name), log })
    opened.set(name, index)
    return index.then((one) => ({ ...one, close: async () => {} }))
  }
  const engine: Engine = {
    name: 'servers',
    shared: true,
    open,
    drop: async () => {},
    tidy: async () => {},
  }
  cleanUp(t, async () => {
    for (const index of opened.values()) await (await index).close()
  })
  const url = roleUrl(settings.DATABASE_URL, 'knowledge', settings.INTERNAL_KEY)
  const one = async () => {
    const db = openDb<Tables>({ url, schema: 'knowledge', log })
    const locks = openSourceLocks({ url, log })
    cleanUp(t, () => Promise.all([db.destroy(), locks.close()]))
    const index = await openGenerations({ db, engine, log })
    return { db, log, index, indexer: createIndexer({ db, index, log, alone: locks.hold }) }
  }
  return {
    knowledge,
    many: await Promise.all(Array.from({ length: count }, one)),
    locks: () => openSourceLocks({ url, log }),
  }
}

const never = new AbortController().signal

test('of processes that start at once with a new engine each source is indexed, and stays current', async (t) => {
  const { many, knowledge } = await processes(t, 3)
  const ends = await Promise.all(many.map(({ indexer }) => indexer.settleAll(never)))
  assert.deepEqual(
    ends.map(({ failed }) => failed),
    [0, 0, 0],
  )
  for (const { index } of many) assert.equal((await index.searchText(all)).length, 12)
  const left = await knowledge.db
    .selectFrom('sources')
    .select('key')
    .where('index_stale', '=', true)
    .execute()
  assert.deepEqual(left, [])
})

test('what one process writes while another makes the index again is found by all', async (t) => {
  const { many, knowledge } = await processes(t, 2)
  const [first, second] = many
  assert.ok(first && second)
  await first.indexer.settleAll(never)
  const rebuilding = rebuildIndex(first, never)
  for (let n = 0; n < 10; n++) {
    await markAllStale(knowledge.db)
    await second.indexer.settleAll(never)
    for (const { index } of many) assert.equal((await index.searchText(all)).length, 12)
  }
  await rebuilding
  const { current, next, old } = await second.index.look()
  assert.ok(next === null && old !== null && old !== current)
  for (const { index } of many) assert.equal((await index.searchText(all)).length, 12)
})

test('work on one source never runs in two processes at once', async (t) => {
  const { locks } = await processes(t, 0)
  const many = Array.from({ length: 3 }, locks)
  for (const { close } of many) cleanUp(t, close)
  let inside = 0
  let most = 0
  const work = async () => {
    inside++
    most = Math.max(most, inside)
    await new Promise((resolve) => setImmediate(resolve))
    inside--
  }
  await Promise.all(Array.from({ length: 30 }, (_, n) => many[n % 3]?.hold('one', work)))
  assert.equal(most, 1)
})
