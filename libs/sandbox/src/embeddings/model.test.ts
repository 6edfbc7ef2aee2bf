import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { cleanUp, until } from '@guildhall/service/testing'
import { createModel } from './model.ts'

/** A model whose process runs this script in place of the encoder. */
async function testModel(t: TestContext, script: string) {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-model-'))
  const file = join(folder, 'process.mjs')
  await writeFile(file, script)
  const model = createModel(pathToFileURL(file))
  cleanUp(t, async () => {
    await model.stop()
    await rm(folder, { recursive: true })
  })
  return model
}

const ANSWER = `
  let asked = 0
  process.on('message', (texts) => {
    if (texts.includes('die')) process.exit(3)
    if (texts.includes('fail')) return process.send({ error: 'no such word' })
    process.send({ vectors: texts.map(() => Float32Array.of(++asked)) })
  })`
const lives = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const refusal = (message: RegExp) => ({ code: 'embeddings.unavailable', message })

test('a text seen lately is not computed again, not even while it is under way', async (t) => {
  const model = await testModel(t, ANSWER)
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
  const model = await testModel(t, ANSWER)
  const passages = Array.from({ length: 64 }, (_, i) => String(i).padEnd(600, 'p'))
  const [indexed, [question]] = await Promise.all([
    model.embed(passages),
    model.embed(['question']),
  ])
  assert.equal(question?.[0], 2)
  assert.deepEqual([indexed.length, indexed[0]?.[0], indexed[1]?.[0]], [64, 1, 3])
})

test('a process that dies fails what it was asked, and what waits goes to another', async (t) => {
  const model = await testModel(t, ANSWER)
  const dead = assert.rejects(model.embed(['die']), refusal(/The model's process ended with 3/))
  const waiting = model.embed(['waits', 'too'])
  await dead
  assert.equal((await waiting).length, 2)
  await assert.rejects(model.embed(['die']), refusal(/The model's process ended with 3/))
  assert.equal((await model.embed(['alive'])).length, 1)
})

test('a text that the model refuses fails alone', async (t) => {
  const model = await testModel(t, ANSWER)
  await assert.rejects(model.embed(['fail']), refusal(/no such word/))
  assert.equal((await model.embed(['fine'])).length, 1)
})

test('a model that cannot be loaded fails what it was asked; its reason is on stderr', async (t) => {
  const model = await testModel(t, 'throw new Error("no weights here")')
  await assert.rejects(model.warm(), refusal(/The model's process ended with 1/))
})

test('stopping refuses what waits and what comes after', async (t) => {
  const model = await testModel(t, 'setInterval(() => {}, 1000)')
  const asked = assert.rejects(model.embed(['never']), refusal(/the sandbox stopped/))
  await model.stop()
  await asked
  await assert.rejects(model.embed(['late']), refusal(/the sandbox stopped/))
})

test('the process ends when the one that asks is killed, and keeps none alive', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-model-'))
  cleanUp(t, () => rm(folder, { recursive: true }))
  const script = join(folder, 'process.mjs')
  await writeFile(
    script,
    `process.on('message', () => process.send({ vectors: [Float32Array.of(process.pid)] }))`,
  )
  const asking = join(folder, 'asking.mjs')
  await writeFile(
    asking,
    `import { createModel } from ${JSON.stringify(new URL('./model.ts', import.meta.url))}
     const model = createModel(new URL(${JSON.stringify(pathToFileURL(script))}))
     const [vector] = await model.embed(['x'])
     console.log(vector[0])
     if (process.argv[2] === 'stay') setInterval(() => {}, 1000)`,
  )
  for (const way of ['stay', 'leave']) {
    const asker = spawn(process.execPath, [asking, way], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [printed] = await once(asker.stdout, 'data')
    const pid = Number(printed)
    assert.ok(pid > 1)
    if (way === 'stay') asker.kill('SIGKILL')
    await once(asker, 'exit')
    await until(() => !lives(pid))
  }
})
