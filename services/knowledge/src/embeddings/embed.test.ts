import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { embedTexts } from '@guildhall/contracts/embeddings'
import { testKnowledge } from '../testing.ts'
import { testEmbedder } from '../testing-embedder.ts'

test('agents get vectors of an org by its embedder, as queries or passages, as many as a message takes', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const env = { ...settings, EMBEDDINGS_QUERY_PREFIX: 'query: ' }
  const knowledge = await testKnowledge(t, env)
  const agents = await busAs(t, { url: knowledge.settings.NATS_URL, peer: 'agents' })
  const embed = (as: 'query' | 'passage', texts: string[]) =>
    ask(agents, embedTexts, { org_id: 1, as, texts })
  const texts = Array.from({ length: 64 }, (_, n) => `thing: ${n}`)
  const { embedded } = await embed('passage', texts)
  assert.deepEqual([embedded?.model, embedded?.vectors.length], ['words', 64])
  for (const vector of embedded?.vectors ?? [])
    assert.equal(Buffer.from(vector, 'base64').length, 4096)
  assert.notEqual(embedded?.vectors[0], embedded?.vectors[1])
  await embed('query', ['tea'])
  assert.deepEqual(
    world.asked.map(({ input }) => input),
    [texts, ['query: tea']],
  )
  world.broken = { status: 400, body: 'no' }
  await assert.rejects(embed('query', ['coffee']), { code: 'embeddings.failed' })
  await assert.rejects(embed('passage', ['coffee']), { kind: 'upstream' })
  await assert.rejects(embed('passage', [...texts, 'one more']))
})

test('an org without an embedder gets none', async (t) => {
  const knowledge = await testKnowledge(t)
  const agents = await busAs(t, { url: knowledge.settings.NATS_URL, peer: 'agents' })
  const asked = { org_id: 1, as: 'query' as const, texts: ['tea'] }
  assert.deepEqual(await ask(agents, embedTexts, asked), { embedded: null })
})
