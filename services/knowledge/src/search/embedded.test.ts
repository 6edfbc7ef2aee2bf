import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { createLog, type Log } from '@guildhall/service/log'
import { connect } from '@lancedb/lancedb'
import { indexConformance } from './conformance.ts'
import { passage, vectorAt } from './conformance-rows.ts'
import { openEmbedded } from './embedded.ts'
import { rowBatch } from './lance-rows.ts'

const log = createLog('test', { format: 'json', level: 'silent' })

const folder = () => mkdtemp(join(tmpdir(), 'guildhall-index-'))

/** An index in `dir`, which is removed after it was closed. */
async function open(t: TestContext, options: { dir?: string; flatRows?: number; log?: Log } = {}) {
  const home = options.dir ?? (await folder())
  const index = await openEmbedded({ log, dir: join(home, 'new'), ...options })
  t.after(async () => {
    await index.close()
    await rm(home, { recursive: true, force: true, maxRetries: 10 })
  })
  return index
}

indexConformance('flat', (t) => open(t))
indexConformance('with a vector index', (t) => open(t, { flatRows: 1 }))

test('an index opened again holds its rows and is not new', async (t) => {
  const dir = await folder()
  const row = passage('fox', { model: 'm1', vector: vectorAt(0) })
  const first = await openEmbedded({ dir, log })
  await first.write([row])
  await first.close()
  const second = await open(t, { dir })
  assert.equal(second.created, false)
  const expected = [{ id: row.id, version: row.version }]
  assert.deepEqual(
    await second.searchText({ org: 1, publishers: [], query: 'fox', limit: 5 }),
    expected,
  )
})

test('an index whose vectors cannot be indexed is kept up all the same, and says so once', async (t) => {
  const dir = await folder()
  const lines: string[] = []
  const sink = new Writable({ write: (line, _, done) => done(void lines.push(String(line))) })
  await (await openEmbedded({ dir, log })).close()
  const connection = await connect(dir)
  const zeros = Array.from({ length: 200 }, () =>
    passage('fox', { model: 'm1', vector: new Float32Array(1024) }),
  )
  await (await connection.openTable('passages')).add(rowBatch(zeros)) // as indexes of before may hold
  connection.close()
  const loud = createLog('test', { format: 'json', level: 'error', to: sink })
  const index = await open(t, { dir, flatRows: 100, log: loud })
  await index.upkeep()
  await index.upkeep()
  assert.equal(lines.length, 1)
  assert.match(lines.join(''), /vectors cannot be indexed/)
  await index.write([passage('a dog')])
  const asked = { org: 1, publishers: [], query: 'dog', limit: 5 }
  assert.equal((await index.searchText(asked)).length, 1)
})

test('a damaged index says that it can be rebuilt, to the operator and not to callers', async (t) => {
  const dir = await folder()
  const error = {
    code: 'search_index.unreadable',
    message: /delete that folder.*rebuilt from the database/,
  }
  const index = await open(t, { dir })
  await index.write([passage('fox')])
  await index.upkeep() // else new files might still be on their way
  const files = await readdir(dir, { recursive: true, withFileTypes: true })
  for (const file of files.filter((entry) => entry.isFile())) {
    await writeFile(join(file.parentPath, file.name), 'damaged')
  }
  await assert.rejects(openEmbedded({ dir, log }), error)
  await rm(dir, { recursive: true, maxRetries: 10 })
  const told = { code: error.code, message: /the log of knowledge says why/ }
  await assert.rejects(index.write([passage('dog')]), told)
})

test('a folder that cannot be made is an error at start', async (t) => {
  const home = await folder()
  t.after(() => rm(home, { recursive: true, maxRetries: 10 }))
  const file = join(home, 'file')
  await writeFile(file, '')
  await assert.rejects(openEmbedded({ dir: join(file, 'index'), log }), {
    code: 'search_index.unreadable',
  })
})
