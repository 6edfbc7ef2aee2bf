import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { getSource, indexPending, putSource, search } from '@guildhall/contracts/knowledge'
import {
  getKnowledgeSettings,
  reembed,
  reembedQueued,
  startReembed,
} from '@guildhall/contracts/knowledge-settings'
import { clientAs, until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { noteIndexed } from '../indexing/queries.ts'
import { knowledgeSettings, testKnowledge } from '../testing.ts'
import { body, member, officer, vectorBody } from '../testing-bodies.ts'
import { testEmbedder } from '../testing-embedder.ts'
import { knowledgeProcess } from '../testing-process.ts'

type Knowledge = Awaited<ReturnType<typeof testKnowledge>>
/** Found by meaning alone: the words are excluded. */
const BY_MEANING = 'fox -fox'

async function found({ as }: Knowledge, query: string) {
  const reply = await as(member(1)).call(search, { body: { query } })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body.results.map(({ source_key }) => source_key).sort()
}

async function models({ as }: Knowledge, ...keys: string[]) {
  const replies = keys.map((key) => as(member(1)).call(getSource, { params: { key } }))
  return (await Promise.all(replies)).map(
    (reply) => reply.status === 200 && reply.body.source.version?.embedding_model,
  )
}

/** Sets the org's embedder and waits until knowledge has heard of it. */
async function setEmbedder({ as, setSecrets }: Knowledge, url: string, model: string) {
  await setSecrets(1, { embeddings_url: url, embeddings_model: model })
  await until(async () => {
    const reply = await as(officer(1)).call(getKnowledgeSettings, { params: { org: 'org1' } })
    return reply.status === 200 && reply.body.embeddings.model === model
  })
}

/** Sources `a` and `b` of the embedder's, `own` with vectors of the writer's, `text` without any; then the model changes. */
async function changedModel(t: Parameters<typeof testKnowledge>[0]) {
  const { world, settings } = await testEmbedder(t)
  const knowledge = await testKnowledge(t)
  const put = (key: string, written: ReturnType<typeof body>) =>
    knowledge.as(member(1)).call(putSource, { params: { key }, body: written })
  await put('text', body('text fox'))
  await setEmbedder(knowledge, settings.EMBEDDINGS_URL, 'old')
  await put('a', body('fox'))
  await put('b', body('fox'))
  await put('own', vectorBody('mine', ['fox', 0]))
  assert.deepEqual(await found(knowledge, BY_MEANING), ['a', 'b'])
  await setEmbedder(knowledge, settings.EMBEDDINGS_URL, 'new')
  return { world, settings, knowledge, put }
}

async function start({ as }: Knowledge) {
  const reply = await as(officer(1)).call(startReembed, { params: { org: 'org1' } })
  assert.ok(reply.status === 202, JSON.stringify(reply.body))
  assert.deepEqual(reply.body, { queued: true })
}

const runs = ({ db }: Knowledge) =>
  db.selectFrom('job_runs').selectAll().where('job', '=', reembed.name).orderBy('id').execute()
const finished = (knowledge: Knowledge, count = 1) =>
  until(async () => {
    const all = await runs(knowledge)
    return all.length === count && all.every(({ finished_at }) => finished_at) && all
  }, 20_000)

test('after the model changed nothing is found by meaning until everything but the vectors of writers is made anew', async (t) => {
  const { knowledge } = await changedModel(t)
  assert.deepEqual(await found(knowledge, BY_MEANING), [])
  assert.deepEqual(await found(knowledge, 'fox'), ['a', 'b', 'own', 'text'])
  const before = await knowledge.db.selectFrom('chunks').select('id').orderBy('id').execute()
  await start(knowledge)
  const [run] = await finished(knowledge)
  assert.deepEqual(run?.result, { reembedded: 3, replaced: 0, failed: 0 })
  assert.deepEqual(await found(knowledge, BY_MEANING), ['a', 'b', 'text'])
  const now = await models(knowledge, 'a', 'b', 'own', 'text')
  assert.deepEqual(now, ['new', 'new', 'mine', 'new'])
  const after = await knowledge.db.selectFrom('chunks').select('id').orderBy('id').execute()
  assert.deepEqual(after, before)

  const lines = await knowledge.db.selectFrom('outbox').select('payload').execute()
  const said = lines.map(({ payload }) => payload as { action: string; details: unknown })
  assert.deepEqual(said.find(({ action }) => action === reembedQueued.action)?.details, {
    model: 'new',
  })
  await start(knowledge)
  const all = await finished(knowledge, 2)
  assert.deepEqual(all[1]?.result, { reembedded: 0, replaced: 0, failed: 0 })
})

test('sources are found all the while, and one that was written meanwhile keeps what was written', async (t) => {
  const { world, knowledge, put } = await changedModel(t)
  await found(knowledge, 'fox') // its vector is known from now on
  const held = Promise.withResolvers<void>()
  world.held = held.promise
  const asked = world.asked.length
  await start(knowledge)
  await until(() => world.asked.length > asked)
  assert.deepEqual(await found(knowledge, 'fox'), ['a', 'b', 'own', 'text'])
  const overtaken = await put('text', vectorBody('mine', ['a new fox', 0])) // the oldest comes first
  assert.equal(overtaken.status, 201)
  held.resolve()
  world.held = undefined
  const [run] = await finished(knowledge)
  assert.deepEqual(run?.result, { reembedded: 2, replaced: 1, failed: 0 })
  assert.deepEqual(await models(knowledge, 'text'), ['mine'])
})

test('where every source fails the run fails with their number and the reason, after it was tried again', async (t) => {
  const { world, knowledge } = await changedModel(t)
  const { db } = knowledge
  world.broken = { status: 400, body: '' }
  await start(knowledge)
  await until(async () => (await runs(knowledge))[0]?.attempts === 1)
  await db.updateTable('job_runs').set({ attempts: 4 }).where('job', '=', reembed.name).execute() // the next is the last
  const [run] = await finished(knowledge)
  assert.equal(run?.state, 'failed')
  assert.match(
    run?.error ?? '',
    /^None of the 3 sources .* not replaced meanwhile got them.* reason: The embedder answered 400/,
  )
  assert.deepEqual(await models(knowledge, 'a'), ['old'])
  assert.deepEqual(await found(knowledge, 'fox'), ['a', 'b', 'own', 'text'])
})

test('an embedder that is away for a while only delays the run', async (t) => {
  const { world, knowledge } = await changedModel(t)
  world.broken = { status: 400, body: '' }
  const asked = world.asked.length
  await start(knowledge)
  await until(() => world.asked.length >= asked + 3)
  world.broken = undefined
  const [run] = await finished(knowledge)
  assert.deepEqual([run?.state, run?.result], ['done', { reembedded: 3, replaced: 0, failed: 0 }])
})

test('a source that fails does not stop the others, is told, and is tried again when asked for', async (t) => {
  const { world, knowledge } = await changedModel(t)
  const { db } = knowledge
  world.refused = 'fox' // what a and b say
  await start(knowledge)
  const [run] = await finished(knowledge)
  const { reason, ...counts } = Object(run?.result) as { reason?: string }
  assert.deepEqual([run?.state, counts], ['done', { reembedded: 1, replaced: 0, failed: 2 }])
  assert.match(reason ?? '', /The embedder answered 400/)
  assert.deepEqual(await models(knowledge, 'a', 'text'), ['old', 'new'])
  world.refused = undefined
  await start(knowledge)
  const [, again] = await finished(knowledge, 2)
  assert.deepEqual(again?.result, { reembedded: 2, replaced: 0, failed: 0 })
  const stale = db.selectFrom('sources').select('key').where('index_stale', '=', true)
  assert.deepEqual(await stale.execute(), [])
})

test('cut off by a stop, the job goes on with what is left at the next start', async (t) => {
  const { world, knowledge, settings } = await changedModel(t)
  const held = Promise.withResolvers<void>()
  const asked = world.asked.length
  world.held = held.promise
  await start(knowledge)
  await until(() => world.asked.length > asked)
  const stopping = knowledge.stop()
  held.resolve()
  world.held = undefined
  await stopping
  const before = await runs(knowledge)
  assert.equal(before[0]?.finished_at, null)
  const again = await testKnowledge(t, {}, knowledge.settings)
  await again.setSecrets(1, { embeddings_url: settings.EMBEDDINGS_URL, embeddings_model: 'new' })
  const [run] = await finished(again)
  assert.equal(run?.state, 'done')
  assert.deepEqual(await models(again, 'a', 'b', 'text'), ['new', 'new', 'new'])
})

test('killed after the vectors were stored and before they were indexed, they are found after the next start', async (t) => {
  const { settings } = await testEmbedder(t)
  const old = { ...(await knowledgeSettings(t)), ...settings }
  const seed = await testKnowledge(t, {}, old)
  await seed.as(member(1)).call(putSource, { params: { key: 'a' }, body: body('fox') })
  await seed.stop()
  const changed = { ...old, EMBEDDINGS_MODEL: 'new' }
  const { child, url } = await knowledgeProcess(t, changed)
  const stale = () =>
    seed.db.selectFrom('sources').select('key').where('index_stale', '=', true).executeTakeFirst()
  await seed.db.transaction().execute(async (trx) => {
    await sql`select from search_index for update`.execute(trx) // whoever writes the index reads this row first
    const client = clientAs(url, changed.INTERNAL_KEY, officer(1))
    const reply = await client.call(startReembed, { params: { org: 'org1' } })
    assert.equal(reply.status, 202)
    await until(stale)
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const [cut] = await runs(seed)
  assert.equal(cut?.finished_at, null)

  const next = await testKnowledge(t, {}, changed)
  await until(async () => (await fetch(`${next.url}/ready`)).status === 200)
  assert.deepEqual(await models(next, 'a'), ['new'])
  assert.deepEqual(await found(next, BY_MEANING), ['a'])
  assert.equal(await stale(), undefined)
})

test('asked for again, one waits at a time, and one that comes to one under way leaves all to it', async (t) => {
  const { world, knowledge } = await changedModel(t)
  const held = Promise.withResolvers<void>()
  t.after(() => held.resolve())
  world.held = held.promise
  const asked = world.asked.length
  await start(knowledge)
  await until(() => world.asked.length > asked)
  const most = { waiting: 0 }
  const again = async () => {
    await start(knowledge)
    const waiting = (await runs(knowledge)).filter(({ state }) => state === 'queued')
    most.waiting = Math.max(most.waiting, waiting.length)
  }
  await Promise.all(Array.from({ length: 10 }, again))
  assert.ok(most.waiting <= 1, `${most.waiting} waited at once`)
  const [first, ...others] = await until(async () => {
    const [one, ...rest] = await runs(knowledge)
    return rest.every(({ finished_at }) => finished_at) && [one, ...rest]
  })
  assert.equal(first?.state, 'running')
  const nothing = { reembedded: 0, replaced: 0, failed: 0 }
  assert.ok(others.length > 0)
  for (const { result } of others) assert.deepEqual(result, { ...nothing, joined: true })

  // their slot is free for another org, whose embedder answers
  const other = await testEmbedder(t)
  const theirs = { embeddings_url: other.settings.EMBEDDINGS_URL, embeddings_model: 'new' }
  await knowledge.setSecrets(2, theirs)
  await knowledge.as(officer(2)).call(startReembed, { params: { org: 'org2' } })
  const ofOrg = async (id: number) => (await runs(knowledge)).find(({ org_id }) => org_id === id)
  const last = await until(async () => {
    const run = await ofOrg(2)
    return run?.finished_at && run
  })
  assert.deepEqual([last.state, last.result], ['done', nothing])
  held.resolve()
  world.held = undefined
  await until(async () => (await ofOrg(1))?.finished_at)
  assert.deepEqual((await ofOrg(1))?.result, { ...nothing, reembedded: 3 })
  assert.equal(world.asked.length, asked + 3) // nothing twice
})

test('an indexing that began before the new vectors does not pass for one of them', async (t) => {
  const { knowledge } = await changedModel(t)
  const { db, run } = knowledge
  const source = await db
    .selectFrom('sources')
    .selectAll()
    .where('key', '=', 'a')
    .executeTakeFirstOrThrow()
  const version = {
    id: source.current_version_id ?? '',
    source_id: source.id,
    org_id: 1,
    state: 'current' as const,
    embedding_model: 'old',
    category: source.category,
    public: source.public,
  }
  await start(knowledge)
  await finished(knowledge)
  await db.updateTable('sources').set({ index_stale: true }).where('id', '=', source.id).execute()
  await noteIndexed(db, version)
  const stale = await db
    .selectFrom('sources')
    .select('index_stale')
    .where('id', '=', source.id)
    .executeTakeFirst()
  assert.equal(stale?.index_stale, true)
  await run(indexPending)
  assert.ok((await found(knowledge, BY_MEANING)).includes('a'))
})

test('without an embedder there is nothing to start', async (t) => {
  const { as, db } = await testKnowledge(t)
  const reply = await as(officer(1)).call(startReembed, { params: { org: 'org1' } })
  assert.ok(reply.status === 503 && reply.body.code === 'embeddings.unset')
  assert.deepEqual(
    await db.selectFrom('job_runs').select('id').where('job', '=', reembed.name).execute(),
    [],
  )
})
