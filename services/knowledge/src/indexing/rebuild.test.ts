import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import {
  deleteSource,
  findRebuild,
  putSource,
  rebuildSearchIndex,
  search,
} from '@guildhall/contracts/knowledge'
import { startJob } from '@guildhall/contracts/ops'
import { newId } from '@guildhall/service/id'
import { cleanUp, until } from '@guildhall/service/testing'
import { knowledgeSettings, testKnowledge } from '../testing.ts'
import { body, member, vectorBody } from '../testing-bodies.ts'

type Knowledge = Awaited<ReturnType<typeof testKnowledge>>
type Client = ReturnType<Knowledge['as']>

/** Sources `stay0` … with a word of their own each. */
async function seed(client: Client, count: number) {
  for (let n = 0; n < count; n++) {
    const put = await client.call(putSource, {
      params: { key: `stay${n}` },
      body: vectorBody('m1', [`word${n} stays`, n]),
    })
    assert.equal(put.status, 201)
  }
}

async function found(client: Client, query: string) {
  const reply = await client.call(search, { body: { query } })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body.results.map(({ content }) => content)
}

const generations = ({ settings }: Pick<Knowledge, 'settings'>) =>
  readdir(settings.KNOWLEDGE_INDEX_DIR)
const live = ({ db }: Knowledge) =>
  db.selectFrom('search_index').selectAll().executeTakeFirstOrThrow()

test('while the index is made again, searches miss nothing and show nothing that is gone', async (t) => {
  const knowledge = await testKnowledge(t)
  const alpha = knowledge.as(member(1))
  await seed(alpha, 40)
  await alpha.call(putSource, { params: { key: 'other' }, body: body('written0 text') })
  const before = await live(knowledge)
  const state = { over: false, searches: 0, writes: 0 }

  const searching = async (offset: number) => {
    for (let n = offset; !state.over; n++) {
      assert.deepEqual(await found(alpha, `word${n % 40}`), [`word${n % 40} stays`])
      state.searches++
    }
  }
  const writing = async () => {
    for (let n = 1; !state.over; n++) {
      const params = { key: 'other' }
      await alpha.call(putSource, { params, body: body(`written${n} text`) })
      assert.deepEqual(await found(alpha, 'text'), [`written${n} text`])
      if (n % 3 === 0) {
        assert.equal((await alpha.call(deleteSource, { params })).status, 200)
        assert.deepEqual(await found(alpha, 'text'), [])
      }
      state.writes++
    }
  }
  const busy = [searching(0), searching(20), writing()]
  for (let n = 0; n < 3; n++) {
    const run = await knowledge.run(rebuildSearchIndex)
    assert.equal(run.state, 'done', JSON.stringify(run))
  }
  state.over = true
  await Promise.all(busy)
  t.diagnostic(`${state.searches} searches and ${state.writes} writes during three rebuilds`)
  const after = await live(knowledge)
  assert.notEqual(after.current, before.current)
  assert.deepEqual([after.next, after.old], [null, null])
  assert.deepEqual(await generations(knowledge), [after.current])
})

test('two rebuilds at once make one index', async (t) => {
  const knowledge = await testKnowledge(t)
  await seed(knowledge.as(member(1)), 30)
  const runs = await Promise.all([1, 2].map(() => knowledge.run(rebuildSearchIndex)))
  assert.deepEqual(
    runs.map(({ state }) => state),
    ['done', 'done'],
  )
  const results = runs.map(({ result }) => result as { generation: string; joined: boolean })
  const { current } = await live(knowledge)
  assert.deepEqual(await generations(knowledge), [current])
  assert.ok(results.some(({ generation }) => generation === current))
  assert.deepEqual(await found(knowledge.as(member(1)), 'word7'), ['word7 stays'])
})

test('a rebuild that was killed goes on at the next start', async (t) => {
  const settings = await knowledgeSettings(t)
  const first = await testKnowledge(t, {}, settings)
  await seed(first.as(member(1)), 60)
  const before = await live(first)
  await first.stop()
  const child = await knowledgeProcess(t, settings)
  const id = newId()
  await ask(first.bus, startJob('knowledge'), { id, job: rebuildSearchIndex.name, args: {} })
  const progress = await until(async () => {
    const { rebuild } = await ask(first.bus, findRebuild, {})
    return rebuild && rebuild.left < rebuild.sources ? rebuild : undefined
  })
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.diagnostic(`killed with ${progress.left} of ${progress.sources} sources left`)

  const second = await testKnowledge(t, {}, settings)
  const alpha = second.as(member(1))
  assert.deepEqual(await found(alpha, 'word3'), ['word3 stays'])
  const after = await until(async () => {
    const now = await live(second)
    return now.next === null && now.current !== before.current && now.old === null ? now : undefined
  })
  assert.deepEqual(await generations(second), [after.current])
  for (const n of [0, 30, 59]) assert.deepEqual(await found(alpha, `word${n}`), [`word${n} stays`])
  assert.deepEqual((await ask(second.bus, findRebuild, {})).rebuild, null)
})

test('an index of another layout is made again at the start', async (t) => {
  const settings = await knowledgeSettings(t)
  const first = await testKnowledge(t, {}, settings)
  await seed(first.as(member(1)), 5)
  const { current } = await live(first)
  await first.stop()
  const outdated = current.replace(/^v\d+/, 'v0')
  const dir = settings.KNOWLEDGE_INDEX_DIR
  await rename(join(dir, current), join(dir, outdated))
  await first.db.updateTable('search_index').set({ current: outdated }).execute()

  const second = await testKnowledge(t, {}, settings)
  const alpha = second.as(member(1))
  assert.deepEqual(await found(alpha, 'word2'), ['word2 stays'])
  await until(async () => {
    const now = await live(second)
    return now.current.startsWith('v1-') && now.old === null
  })
  assert.deepEqual(await found(alpha, 'word2'), ['word2 stays'])
  assert.deepEqual(await generations(second), [(await live(second)).current])
})

async function knowledgeProcess(
  t: TestContext,
  settings: Awaited<ReturnType<typeof knowledgeSettings>>,
) {
  const child = spawn(process.execPath, [new URL('../main.ts', import.meta.url).pathname], {
    env: { ...settings, LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  cleanUp(t, async () => child.kill('SIGKILL'))
  for await (const line of createInterface(child.stdout))
    if ((JSON.parse(line) as { url?: string }).url) return child
  throw new Error('The process ended before it had started')
}
