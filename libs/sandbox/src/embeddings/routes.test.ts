import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { wholeFile } from '@guildhall/service/testing'
import { testSandbox } from '../testing.ts'

interface Reply {
  object: string
  data: { object: string; index: number; embedding: number[] }[]
  model: string
  usage: { prompt_tokens: number; total_tokens: number }
  error: { message: string; type: string; code: string | null }
}

let sandbox: Awaited<ReturnType<typeof testSandbox>>
const file = wholeFile()
before(async () => {
  sandbox = await testSandbox(file)
})

async function ask(body: unknown, headers: Record<string, string> = {}) {
  const reply = await fetch(`${sandbox.embeddingsUrl}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: reply.status, body: (await reply.json()) as Reply }
}

const embed = async (input: string | string[]) =>
  (await ask({ model: 'demo', input })).body.data.map(({ embedding }) => embedding)
const likeness = (a: number[] = [], b: number[] = []) =>
  a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0)

test('one text and a list come back as OpenAI answers, 1 024 numbers each', async () => {
  const one = await ask({ model: 'demo', input: 'How do I reset my password?' })
  assert.equal(one.status, 200)
  assert.deepEqual(Object.keys(one.body), ['object', 'data', 'model', 'usage'])
  assert.deepEqual([one.body.object, one.body.model], ['list', 'demo'])
  assert.deepEqual(one.body.usage, { prompt_tokens: 7, total_tokens: 7 })
  const many = await ask({ model: 'demo', input: ['first', 'second', 'first'] })
  assert.deepEqual(
    many.body.data.map(({ object, index }) => [object, index]),
    [
      ['embedding', 0],
      ['embedding', 1],
      ['embedding', 2],
    ],
  )
  for (const { embedding } of [...one.body.data, ...many.body.data]) {
    assert.equal(embedding.length, 1024)
    assert.ok(Math.abs(likeness(embedding, embedding) - 1) < 1e-5)
    assert.ok(embedding.slice(512).every((number) => number === 0))
  }
  assert.deepEqual(many.body.data[0]?.embedding, many.body.data[2]?.embedding)
})

test('texts that mean the same are nearer than texts that do not', async () => {
  const [password, recover, graphics] = await embed([
    'How do I reset my password?',
    'recover lost login credentials',
    'The club owns three graphics cards',
  ])
  assert.ok(likeness(password, recover) > likeness(password, graphics) + 0.2)
})

test('odd texts have a vector too, and a long one is cut rather than refused', async () => {
  const vectors = await embed([' ', '\n', '😀', '日本語', 'a'.repeat(20_000)])
  assert.ok(vectors.flat().every(Number.isFinite))
  assert.equal(vectors.length, 5)
})

test('an official client may ask for base64', async () => {
  const input = 'the same text'
  const { body } = await ask({ model: 'demo', input, encoding_format: 'base64' })
  const bytes = Buffer.from(String(body.data[0]?.embedding), 'base64')
  const numbers = [...new Float32Array(new Uint8Array(bytes).buffer)]
  assert.deepEqual(numbers, (await embed(input))[0])
})

test('bad input is refused with an error as OpenAI has it', async () => {
  const cases: [unknown, RegExp][] = [
    [{ input: 'x' }, /model/],
    [{ model: 'demo' }, /input must be a text or a list/],
    [{ model: 'demo', input: '' }, /empty/],
    [{ model: 'demo', input: [] }, /empty/],
    [{ model: 'demo', input: ['x', ''] }, /empty/],
    [{ model: 'demo', input: [1, 2] }, /input must be a text or a list/],
    [{ model: 'demo', input: Array(65).fill('x') }, /at most 64/],
    [{ model: 'demo', input: 'x', dimensions: 512 }, /dimensions must be 1024/],
    ['{', /JSON/],
  ]
  for (const [body, message] of cases) {
    const reply = await ask(body)
    assert.equal(reply.status, 400, JSON.stringify(body))
    assert.equal(reply.body.error.type, 'invalid_request_error')
    assert.match(reply.body.error.message, message)
  }
})

test('a key is asked for only where the world has one', async (t) => {
  t.after(() => {
    sandbox.world.embeddingsKey = undefined
  })
  sandbox.world.embeddingsKey = 'sk-demo'
  const asked = { model: 'demo', input: 'x' }
  const refused = await ask(asked)
  assert.deepEqual([refused.status, refused.body.error.code], [401, 'invalid_api_key'])
  assert.equal((await ask(asked, { authorization: 'Bearer sk-demo' })).status, 200)
})

test('a service that is down answers 503', async (t) => {
  t.after(() => {
    sandbox.world.faults.embeddings = undefined
  })
  sandbox.world.faults.embeddings = 'down'
  const reply = await ask({ model: 'demo', input: 'x' })
  assert.deepEqual([reply.status, reply.body.error.type], [503, 'server_error'])
})
