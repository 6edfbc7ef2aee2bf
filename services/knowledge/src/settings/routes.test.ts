import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import {
  findKnowledgeSettings,
  getKnowledgeSettings,
  knowledgeSettingsChanged,
  putKnowledgeSettings,
  type SettingsChange,
} from '@guildhall/contracts/knowledge-settings'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { testKnowledge } from '../testing.ts'
import { officer } from '../testing-bodies.ts'
import { testEmbedder } from '../testing-embedder.ts'

type Client = ReturnType<Awaited<ReturnType<typeof testKnowledge>>['as']>
const params = { org: 'org1' }

const put = (client: Client, body: SettingsChange) =>
  client.call(putKnowledgeSettings, { params, body })

async function settings(client: Client) {
  const reply = await client.call(getKnowledgeSettings, { params })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

test('what an org sets counts over the defaults, null returns one, and each change is audited', async (t) => {
  const more = { KNOWLEDGE_CHUNK_CHARS: '500', KNOWLEDGE_MAX_DISTANCE: '0.7' }
  const { as, db } = await testKnowledge(t, more)
  const alpha = as(officer(1))
  const defaults = {
    chunk_chars: 500,
    chunk_overlap: 0,
    mode: 'hybrid',
    top_k: 8,
    window: 0,
    max_distance: 0.7,
    rrf_k: 60,
  }
  const embeddings = { configured: false, model: null }
  assert.deepEqual(await settings(alpha), { settings: defaults, defaults, embeddings })

  const change = { mode: 'text' as const, top_k: 3, chunk_chars: 1000 }
  const changed = await put(alpha, change)
  assert.deepEqual(changed.body, { settings: { ...defaults, ...change }, defaults, embeddings })
  await put(alpha, { top_k: null, window: 2 })
  const after = { ...defaults, mode: 'text', chunk_chars: 1000, window: 2 }
  assert.deepEqual((await settings(alpha)).settings, after)
  assert.deepEqual((await settings(as(officer(2)))).settings, defaults)

  const lines = await db.selectFrom('outbox').select('payload').orderBy('id').execute()
  assert.deepEqual(
    lines
      .map(({ payload }) => payload as Record<string, unknown>)
      .map((one) => [one.action, one.details, one.actor_id]),
    [
      [knowledgeSettingsChanged.action, { fields: ['chunk_chars', 'mode', 'top_k'] }, '12345'],
      [knowledgeSettingsChanged.action, { fields: ['top_k', 'window'] }, '12345'],
    ],
  )
})

test('each setting takes its range and nothing beyond, and unknown names are refused', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(officer(1))
  const ranges: [string, unknown[], unknown[]][] = [
    ['chunk_chars', [100, 4000], [99, 4001, 100.5, '200']],
    ['chunk_overlap', [0, 150], [-1, 151, 0.5]],
    ['mode', ['hybrid', 'text', 'vector'], ['words', '']],
    ['top_k', [1, 50], [0, 51, 1.5]],
    ['window', [0, 5], [-1, 6, 0.5]],
    ['max_distance', [0.05, 2], [0.049, 2.001]],
    ['rrf_k', [1, 200], [0, 201, 1.5]],
  ]
  for (const [name, right, wrong] of ranges) {
    const status = async (value: unknown) => (await put(alpha, { [name]: value })).status
    for (const value of right) assert.equal(await status(value), 200, `${name} ${value}`)
    for (const value of wrong) assert.equal(await status(value), 400, `${name} ${value}`)
    assert.equal(await status(null), 200)
  }
  for (const body of [{}, { chunks: 3 }, { top_k: 3, other: null }])
    assert.equal((await put(alpha, body as never)).status, 400)
  const { settings: left, defaults } = await settings(alpha)
  assert.deepEqual(left, defaults)
})

test('the overlap is at most half of the passage that counts after the change', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(officer(1))
  const refused = await put(alpha, { chunk_overlap: 151 })
  assert.ok(refused.status === 400 && refused.body.code === 'settings.overlap')
  assert.match(refused.body.error, /300 characters up to 150, not 151/)
  assert.equal((await put(alpha, { chunk_overlap: 150 })).status, 200)
  assert.equal((await put(alpha, { chunk_chars: 299 })).status, 400)
  assert.equal((await put(alpha, { chunk_chars: 299, chunk_overlap: 150 })).status, 400)
  assert.equal((await put(alpha, { chunk_chars: 299, chunk_overlap: 149 })).status, 200)
  assert.equal((await put(alpha, { chunk_chars: 4000, chunk_overlap: 2001 })).status, 400)
  assert.equal((await put(alpha, { chunk_chars: 4000, chunk_overlap: 2000 })).status, 200)
  assert.equal((await put(alpha, { chunk_chars: null })).status, 400) // 300 again
  assert.equal((await put(alpha, { chunk_chars: null, chunk_overlap: null })).status, 200)
})

test('of seven officers who each change another setting at once all are heard', async (t) => {
  const { as } = await testKnowledge(t)
  const changes = {
    chunk_chars: 400,
    chunk_overlap: 10,
    mode: 'text',
    top_k: 9,
    window: 1,
    max_distance: 1,
    rrf_k: 61,
  } as const
  const replies = await Promise.all(
    Object.entries(changes).map(([name, value]) => put(as(officer(1)), { [name]: value })),
  )
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
  assert.deepEqual((await settings(as(officer(1)))).settings, changes)
})

test('auth is told what an org set itself, and a purge forgets it', async (t) => {
  const { as, auth } = await testKnowledge(t)
  await put(as(officer(1)), { top_k: 3 })
  const own = async (org_id: number) => (await ask(auth, findKnowledgeSettings, { org_id })).own
  assert.deepEqual([await own(1), await own(2)], [{ top_k: 3 }, {}])
  await ask(auth, purgeOrgOf('knowledge'), { org_id: 1 })
  assert.deepEqual(await own(1), {})
})

test('the settings say which embedder the org has: its own or that of the deployment', async (t) => {
  const { settings: env } = await testEmbedder(t)
  const { as, setSecrets } = await testKnowledge(t, env)
  const alpha = as(officer(1))
  assert.deepEqual((await settings(alpha)).embeddings, { configured: true, model: 'words' })
  await setSecrets(2, { embeddings_url: env.EMBEDDINGS_URL, embeddings_model: 'other' })
  const beta = await settings(as(officer(2)))
  assert.deepEqual(beta.embeddings, { configured: true, model: 'other' })
})
