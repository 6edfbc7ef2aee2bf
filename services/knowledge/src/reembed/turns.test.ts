import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { putSource } from '@guildhall/contracts/knowledge'
import {
  getKnowledgeSettings,
  reembed,
  startReembed,
} from '@guildhall/contracts/knowledge-settings'
import { until } from '@guildhall/service/testing'
import { testKnowledge } from '../testing.ts'
import { body, member, officer } from '../testing-bodies.ts'
import { testEmbedder } from '../testing-embedder.ts'

const MINUTE_MS = 60_000

async function modelOf(as: Awaited<ReturnType<typeof testKnowledge>>['as']) {
  const reply = await as(officer(1)).call(getKnowledgeSettings, { params: { org: 'org1' } })
  return reply.status === 200 && reply.body.embeddings.model
}

/** An org with these texts, each a source, that has an embedder from now on; each answer of it takes `minutes` by the clock. */
async function texts(t: TestContext, contents: string[], minutes = 0) {
  const { world, settings } = await testEmbedder(t)
  const now = () => new Date(Date.now() + world.asked.length * minutes * MINUTE_MS)
  const knowledge = await testKnowledge(t, {}, undefined, { now })
  const { as, db, setSecrets } = knowledge
  for (const [n, content] of contents.entries())
    await as(member(1)).call(putSource, { params: { key: `s${n}` }, body: body(content) })
  await setSecrets(1, { embeddings_url: settings.EMBEDDINGS_URL, embeddings_model: 'new' })
  await until(async () => (await modelOf(as)) === 'new')
  const start = () => as(officer(1)).call(startReembed, { params: { org: 'org1' } })
  const runs = () =>
    db.selectFrom('job_runs').selectAll().where('job', '=', reembed.name).orderBy('id').execute()
  const finished = (count: number) =>
    until(async () => {
      const all = await runs()
      return all.length === count && all.every(({ finished_at }) => finished_at) && all
    }, 20_000)
  return { world, start, finished, runs, settings, setSecrets, as }
}

test('an embedder that does not work at all is given up after three sources, and asked again later', async (t) => {
  const { world, start } = await texts(t, ['a', 'b', 'c', 'd', 'e'])
  world.broken = { status: 400, body: '' }
  await start()
  await until(() => world.asked.length > 4)
  const inputs = world.asked.map(({ input }) => input[0])
  assert.deepEqual(inputs.slice(0, 5), ['a', 'b', 'c', 'text', 'a'])
})

test('sources that the embedder refuses do not keep it from those after them', async (t) => {
  const { world, start, finished } = await texts(t, ['no', 'no', 'no', 'no', 'yes'])
  world.refused = 'no'
  await start()
  const [run] = await finished(1)
  const { reason: _, ...counts } = Object(run?.result)
  assert.deepEqual(counts, { reembedded: 1, replaced: 0, failed: 4 })
})

test('an org with much to do hands its slot on after five minutes, and goes on where it was', async (t) => {
  const { world, start, finished } = await texts(t, ['no', 'a', 'b', 'c', 'd'], 3)
  world.refused = 'no'
  await start()
  const [first, second, third] = await finished(3)
  const { reason: _, ...counts } = Object(first?.result)
  const two = { reembedded: 2, replaced: 0, failed: 0 }
  assert.deepEqual(counts, { ...two, reembedded: 1, failed: 1, continued_by: second?.id })
  assert.deepEqual(second?.result, { ...two, continued_by: third?.id })
  assert.deepEqual(third?.result, { ...two, reembedded: 1 })
  assert.deepEqual(
    world.asked.map(({ input }) => input[0]),
    ['no', 'a', 'b', 'c', 'd'],
  )
})

test('where the org sets another model meanwhile all its sources get that one', async (t) => {
  const count = 102 // more than are read from the database at once
  const contents = Array.from({ length: count }, (_, n) => `fox ${n}`)
  const { world, start, finished, settings, setSecrets, as } = await texts(t, contents)
  const held = Promise.withResolvers<void>()
  t.after(() => held.resolve())
  world.held = held.promise
  await start()
  await until(() => world.asked.length > 0)
  await setSecrets(1, { embeddings_url: settings.EMBEDDINGS_URL, embeddings_model: 'newer' })
  await until(async () => (await modelOf(as)) === 'newer')
  held.resolve()
  const [run] = await finished(1)
  assert.deepEqual(run?.result, { reembedded: count + 100, replaced: 0, failed: 0 })
  const asked = world.asked.filter(({ model }) => model === 'newer')
  assert.equal(asked.length, count)
})
