import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '@guildhall/bus/calls'
import {
  deleteSource,
  getSource,
  indexPending,
  putSource,
  search,
  sourceWritten,
  uploadDocuments,
} from '@guildhall/contracts/knowledge'
import { pruneJobs } from '@guildhall/contracts/ops'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { clientAs, until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import type { Db } from '../db.ts'
import { knowledgeSettings, testKnowledge } from '../testing.ts'
import { body, member, officer, vectorAt, vectorBody } from '../testing-bodies.ts'
import { knowledgeProcess } from '../testing-process.ts'

type Knowledge = Awaited<ReturnType<typeof testKnowledge>>
const params = { key: 'a' }
/** After a write the index folds its new rows in by itself: the folder must not be taken away under that. */
const QUIET_MS = 250

async function found(client: ReturnType<Knowledge['as']>, query = 'fox') {
  const reply = await client.call(search, { body: { query } })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body.results.map(({ content }) => content)
}

/** Puts a file where the folder of the index was: no write can succeed. Answers what undoes it. */
async function breakIndex({ settings }: Knowledge) {
  const dir = settings.KNOWLEDGE_INDEX_DIR
  const files = async () => (await readdir(dir, { recursive: true })).join()
  await until(async () => {
    const before = await files()
    await wait(QUIET_MS)
    return before === (await files())
  })
  await rename(dir, `${dir}.aside`)
  await writeFile(dir, '')
  return async () => {
    await rm(dir)
    await rename(`${dir}.aside`, dir)
  }
}

test('an interrupted indexing leaves the old text, answers 503, and the job finishes it', async (t) => {
  const knowledge = await testKnowledge(t, { LOG_LEVEL: 'fatal' })
  const { as, db, run } = knowledge
  const alpha = as(member(1))
  await alpha.call(putSource, { params, body: body('old fox') })
  const repair = await breakIndex(knowledge)
  const put = await alpha.call(putSource, { params, body: { ...body('new fox'), title: 'New' } })
  assert.ok(put.status === 503)
  assert.equal(put.body.code, 'source.indexing_later')
  assert.match(put.body.error, /finish by itself/)
  const fresh = await alpha.call(putSource, { params: { key: 'b' }, body: body('first fox') })
  assert.equal(fresh.status, 503)
  const pending = await alpha.call(getSource, { params: { key: 'b' } })
  assert.ok(pending.status === 200 && pending.body.source.version === null)
  const before = await alpha.call(getSource, { params })
  assert.ok(before.status === 200 && before.body.source.title === 'Title')
  assert.deepEqual((await run(indexPending)).result, { sources: 2, failed: 2 })

  await repair()
  assert.deepEqual(await found(alpha), ['old fox'])
  assert.deepEqual((await run(indexPending)).result, { sources: 2, failed: 0 })
  assert.deepEqual((await found(alpha)).sort(), ['first fox', 'new fox'])
  const after = await alpha.call(getSource, { params })
  assert.ok(after.status === 200 && after.body.source.title === 'New')
  const lines = await db
    .selectFrom('outbox')
    .select('payload')
    .where('stream', '=', 'AUDIT')
    .execute()
  const actions = lines.map(({ payload }) => (payload as { action: string }).action)
  assert.equal(actions.filter((action) => action === sourceWritten.action).length, 3)
  assert.deepEqual((await run(indexPending)).result, { sources: 0, failed: 0 })
})

test('labels and deletions that the index missed reach it with the job', async (t) => {
  const knowledge = await testKnowledge(t, { LOG_LEVEL: 'fatal' })
  const { as, db, run } = knowledge
  const [alpha, beta] = [as(member(1, { publisher: true })), as(member(2))]
  await alpha.call(putSource, { params, body: body('own fox') })
  await alpha.call(putSource, { params: { key: 'b' }, body: { ...body('open fox'), public: true } })
  const repair = await breakIndex(knowledge)
  const opened = await alpha.call(putSource, { params, body: { ...body('own fox'), public: true } })
  assert.equal(opened.status, 503)
  assert.equal((await alpha.call(deleteSource, { params: { key: 'b' } })).status, 200)
  await repair()
  assert.deepEqual(await found(beta), [])
  assert.deepEqual(await found(alpha), ['own fox'])
  await run(indexPending)
  assert.deepEqual(await found(beta), ['own fox'])
  assert.deepEqual(await db.selectFrom('removed_versions').selectAll().execute(), [])
  assert.equal((await run(pruneJobs.knowledge)).state, 'done')
})

test('a purge that the index missed is not acknowledged, and done when it is repeated', async (t) => {
  const knowledge = await testKnowledge(t, { LOG_LEVEL: 'fatal' })
  const { as, db, auth } = knowledge
  await as(member(1)).call(putSource, { params, body: body('fox') })
  const repair = await breakIndex(knowledge)
  const purge = () => ask(auth, purgeOrgOf('knowledge'), { org_id: 1 })
  await assert.rejects(purge(), { code: 'source.purge_unfinished' })
  await repair()
  await purge()
  for (const table of ['sources', 'removed_versions'] as const)
    assert.deepEqual(await db.selectFrom(table).selectAll().execute(), [])
})

test('a version that could not be indexed gives way to the next writing', async (t) => {
  const knowledge = await testKnowledge(t, { LOG_LEVEL: 'fatal' })
  const alpha = knowledge.as(member(1))
  await alpha.call(putSource, { params, body: body('old fox') })
  const repair = await breakIndex(knowledge)
  await alpha.call(putSource, { params, body: body('lost fox') })
  await repair()
  assert.equal((await alpha.call(putSource, { params, body: body('old fox') })).status, 200)
  await knowledge.run(indexPending)
  assert.deepEqual(await found(alpha), ['old fox'])
  const left = await knowledge.db.selectFrom('versions').select('state').execute()
  assert.deepEqual(left, [{ state: 'current' }])
})

test('a file sent again after one that could not be indexed is what stays', async (t) => {
  const knowledge = await testKnowledge(t, { LOG_LEVEL: 'fatal' })
  const officer1 = knowledge.as(officer(1))
  const send = async (text: string) => {
    const files = [new File([text], 'a.txt')]
    const reply = await officer1.call(uploadDocuments, { params: { org: 'org1' }, body: { files } })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body.files[0]?.error ?? null
  }
  assert.equal(await send('An old fox.'), null)
  const repair = await breakIndex(knowledge)
  assert.match((await send('A lost fox.')) ?? '', /Indexing will finish by itself/)
  await repair()
  assert.equal(await send('An old fox.'), null)
  await knowledge.run(indexPending)
  assert.deepEqual(await found(knowledge.as(member(1))), ['a.txt\nAn old fox.'])
})

test('an index that was deleted is written again at the start, vectors and all', async (t) => {
  const settings = await knowledgeSettings(t)
  const first = await testKnowledge(t, {}, settings)
  const before = first.as(member(1))
  await before.call(putSource, { params, body: vectorBody('m1', ['red fox', 10]) })
  for (let n = 0; n < 20; n++)
    await before.call(putSource, { params: { key: `k${n}` }, body: body(`dog ${n}`) })
  await first.stop()
  await rm(settings.KNOWLEDGE_INDEX_DIR, { recursive: true })

  const second = await testKnowledge(t, {}, settings)
  const alpha = second.as(member(1))
  await until(async () => (await fetch(`${second.url}/ready`)).status === 200)
  assert.deepEqual(await found(alpha), ['red fox'])
  const near = { query: 'nothing', embedding: vectorAt(0), embedding_model: 'm1' }
  const reply = await alpha.call(search, { body: near })
  assert.deepEqual(reply.status === 200 && reply.body.results.map(({ content }) => content), [
    'red fox',
  ])
  assert.equal((await found(alpha, 'dog')).length, 8)
})

test('killed at any point, the old text is found or the next start finishes the new', async (t) => {
  const settings = await knowledgeSettings(t)
  const identity = member(1)
  const chunks = (word: string) => Array.from({ length: 400 }, (_, n) => `${word} fox ${n}`)
  const seed = await testKnowledge(t, {}, settings)
  await seed.as(identity).call(putSource, { params, body: body(...chunks('word0')) })
  await seed.stop()
  let expected = ['word0']
  for (const [n, delay] of [5, 30, 50, 65, 120].entries()) {
    const word = `word${n + 1}`
    const { child, url } = await knowledgeProcess(t, settings)
    const client = clientAs(url, settings.INTERNAL_KEY, identity)
    const put = client.call(putSource, { params, body: body(...chunks(word)) }).catch(() => null)
    await wait(delay)
    child.kill('SIGKILL')
    await Promise.all([put, once(child, 'exit')])
    expected = [...expected, word]

    const next = await testKnowledge(t, {}, settings)
    const alpha = next.as(identity)
    await until(async () => (await fetch(`${next.url}/ready`)).status === 200)
    const versions = await next.db.selectFrom('versions').select(['id', 'state']).execute()
    assert.deepEqual(
      versions.map(({ state }) => state),
      ['current'],
    )
    const [content] = await found(alpha)
    const there = content?.split(' ')[0] ?? ''
    assert.ok(expected.includes(there), String(content))
    t.diagnostic(`killed after ${delay} ms: ${there === word ? 'the new' : 'the old'} text`)
    for (const other of expected.filter((one) => one !== there))
      assert.deepEqual(await found(alpha, `"${other} fox"`), [])
    assert.equal((await next.db.selectFrom('chunks').select('id').execute()).length, 400)
    expected = [there]
    await next.stop()
  }
})

test('killed between writing the index and the database, the next start finishes the new text', async (t) => {
  const settings = await knowledgeSettings(t)
  const identity = member(1)
  const seed = await testKnowledge(t, {}, settings)
  await seed.as(identity).call(putSource, { params, body: body('old fox') })
  await seed.stop()
  const { child, url } = await knowledgeProcess(t, settings)
  await until(async () => (await fetch(`${url}/ready`)).status === 200)
  await seed.db.transaction().execute(async (trx) => {
    await sql`lock table outbox in exclusive mode`.execute(trx) // the audit line of the new version waits for it
    const client = clientAs(url, settings.INTERNAL_KEY, identity)
    const put = client.call(putSource, { params, body: body('new fox') }).catch(() => null)
    await until(async () => (await found(client, 'new')).length === 0 && (await pending(trx)))
    await wait(300) // its rows reach the index
    child.kill('SIGKILL')
    await Promise.all([put, once(child, 'exit')])
  })
  assert.equal(await pending(seed.db), true)

  const next = await testKnowledge(t, {}, settings)
  await until(async () => (await fetch(`${next.url}/ready`)).status === 200)
  assert.deepEqual(await found(next.as(identity)), ['new fox'])
  assert.equal(await pending(next.db), false)
})

async function pending(db: Db) {
  const rows = await db
    .selectFrom('versions')
    .select('id')
    .where('state', '=', 'indexing')
    .execute()
  return rows.length === 1
}
