import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import { createModel } from './model.ts'

/** A model whose worker runs this script in place of the encoder. */
function testModel(t: TestContext, script?: string) {
  const model = createModel(
    script ? new URL(`data:text/javascript,${encodeURIComponent(script)}`) : undefined,
  )
  cleanUp(t, () => model.stop())
  return model
}

const ANSWER = `
  import { parentPort } from 'node:worker_threads'
  let asked = 0
  parentPort.on('message', (texts) => {
    if (texts.includes('die')) process.exit(3)
    if (texts.includes('fail')) return parentPort.postMessage({ error: 'no such word' })
    parentPort.postMessage({ vectors: texts.map(() => Float32Array.of(++asked)) })
  })`
const refusal = (message: RegExp) => ({ code: 'embeddings.unavailable', message })

test('a text seen lately is not computed again, not even while it is under way', async (t) => {
  const model = testModel(t, ANSWER)
  const firsts = await Promise.all([model.embed(['same']), model.embed(['same', 'same'])])
  assert.deepEqual(
    firsts.flat().map(([first]) => first),
    [1, 1, 1],
  )
  const vectors = await model.embed(['other', 'same'])
  assert.deepEqual(
    vectors.map(([first]) => first),
    [2, 1],
  )
})

test('a question waits for the batch under way, never for the 63 passages behind it', async (t) => {
  const model = testModel(t, ANSWER)
  const passages = Array.from({ length: 64 }, (_, i) => String(i).padEnd(600, 'p'))
  const [indexed, [question]] = await Promise.all([
    model.embed(passages),
    model.embed(['question']),
  ])
  assert.equal(question?.[0], 2)
  assert.deepEqual([indexed.length, indexed[0]?.[0], indexed[1]?.[0]], [64, 1, 3])
})

test('a worker that dies fails what it was asked, and what waits goes to another', async (t) => {
  const model = testModel(t, ANSWER)
  const dead = assert.rejects(model.embed(['die']), refusal(/The worker ended with 3/))
  const waiting = model.embed(['waits', 'too'])
  await dead
  assert.equal((await waiting).length, 2)
  await assert.rejects(model.embed(['die']), refusal(/The worker ended with 3/))
  assert.equal((await model.embed(['alive'])).length, 1)
})

test('a text that the model refuses fails alone', async (t) => {
  const model = testModel(t, ANSWER)
  await assert.rejects(model.embed(['fail']), refusal(/no such word/))
  assert.equal((await model.embed(['fine'])).length, 1)
})

test('a model that cannot be loaded says why', async (t) => {
  const model = testModel(t, 'throw new Error("no weights here")')
  await assert.rejects(model.warm(), refusal(/no weights here/))
})

test('stopping refuses what waits and what comes after', async (t) => {
  const model = testModel(t, 'setInterval(() => {}, 1000)')
  const asked = assert.rejects(model.embed(['never']), refusal(/the sandbox stopped/))
  await model.stop()
  await asked
  await assert.rejects(model.embed(['late']), refusal(/the sandbox stopped/))
})
