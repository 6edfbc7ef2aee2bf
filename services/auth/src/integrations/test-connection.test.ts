import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../config.ts'
import { reachPublic } from './reach.ts'
import { testConnection } from './test-connection.ts'
import { outsideService } from './testing-outside.ts'

const KEY = 'the-right-key'
const config = readConfig({
  SECRET_KEY: '22'.repeat(32),
  INTERNAL_KEY: '11'.repeat(32),
  DATABASE_URL: 'postgres://x',
  NATS_URL: 'nats://x',
})
const asked = { config, reach: reachPublic({ allowAddresses: ['127.0.0.1'] }) }

test('an embedder of the org itself is asked by its URL, model and key', async (t) => {
  const outside = await outsideService(t, KEY)
  const embedding = new Array(1024).fill(0.5)
  outside.answer.body = JSON.stringify({ data: [{ index: 0, embedding }] })
  const fields = { embeddings_url: `${outside.url}/v1/`, embeddings_api_key: KEY }
  assert.equal((await testConnection('embeddings', fields, asked)).ok, true)
  assert.deepEqual([outside.asked[0]?.method, outside.asked[0]?.path], ['POST', '/v1/embeddings'])
  const wrong = { ...fields, embeddings_api_key: 'a-wrong-key' }
  const { ok, message } = await testConnection('embeddings', wrong, asked)
  assert.equal(ok, false)
  assert.match(message, /refuses the key/)
})

test('a renderer and a search service need only answer', async (t) => {
  const outside = await outsideService(t, KEY)
  outside.answer.status = 404
  const renderer = { renderer_url: outside.url, renderer_api_key: KEY }
  assert.deepEqual(await testConnection('renderer', renderer, asked), {
    ok: true,
    message: 'It answers.',
  })
  outside.answer.status = 503
  assert.equal((await testConnection('renderer', renderer, asked)).ok, false)
  const search = { search_service_url: outside.url }
  assert.equal(
    (await testConnection('search', search, asked)).ok,
    false,
    'it refuses without a key',
  )
})

test('a redirect is not followed, so that no key goes astray', async (t) => {
  const outside = await outsideService(t, KEY)
  outside.answer.status = 302
  const renderer = { renderer_url: outside.url, renderer_api_key: KEY }
  const { ok } = await testConnection('renderer', renderer, asked)
  assert.equal(ok, true)
  assert.equal(outside.asked.length, 1)
})
