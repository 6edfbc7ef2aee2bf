import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { cleanUp } from '@guildhall/service/testing'
import { readArchive, writeArchive } from './archive.ts'
import { openSealedKeys, sealKeys } from './sealed-keys.ts'

const DAMAGED = { code: 'backup.damaged' }
const CONTENT = { 'a/b/1': Buffer.from('rows'.repeat(50)), 'a/b/2': Buffer.from('more') }

async function archiveOf(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-test-archive-'))
  cleanUp(t, () => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'whole.tar.gz')
  await writeArchive(file, async (add) => {
    for (const [name, content] of Object.entries(CONTENT)) await add(name, content)
  })
  const read = async (bytes: Buffer) => {
    const copy = join(folder, 'copy.tar.gz')
    await writeFile(copy, bytes)
    const found: Record<string, Buffer> = {}
    await readArchive(copy, async (name, content) => {
      found[name] = content
    })
    return found
  }
  return { folder, file, bytes: await readFile(file), read }
}

test('an archive holds what was added, and is refused when it is cut anywhere', async (t) => {
  const { bytes, read } = await archiveOf(t)
  assert.deepEqual(await read(bytes), CONTENT)
  for (let end = 0; end < bytes.length; end += 7)
    await assert.rejects(read(bytes.subarray(0, end)), DAMAGED, `cut at ${end}`)
})

test('an archive with one changed byte is refused, also where it was packed again', async (t) => {
  const { bytes, read } = await archiveOf(t)
  const tar = gunzipSync(bytes)
  for (let at = 20; at < bytes.length; at += 7) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    if (isPadding(changed, tar)) assert.deepEqual(await read(changed), CONTENT)
    else await assert.rejects(read(changed), DAMAGED, `byte ${at}`)
  }
  const at = tar.indexOf('rowsrows')
  await assert.rejects(read(gzipSync(tar.fill('R', at, at + 1))), {
    ...DAMAGED,
    message: /checksums do not fit/,
  })
})

/** Whether what changed are bits between two blocks of the packing, which mean nothing. */
function isPadding(changed: Buffer, tar: Buffer) {
  try {
    return gunzipSync(changed).equals(tar)
  } catch {
    return false
  }
}

test('a fault while an archive is written leaves no file', async (t) => {
  const { folder } = await archiveOf(t)
  const before = await readdir(folder)
  const failing = writeArchive(join(folder, 'new.tar.gz'), async (add) => {
    await add('a', Buffer.from('a'))
    throw new Error('the database went away')
  })
  await assert.rejects(failing, /the database went away/)
  assert.deepEqual(await readdir(folder), before)
})

test('of two archives to one name the first to end has it, whole, and the other is refused', async (t) => {
  const { folder, read } = await archiveOf(t)
  const before = await readdir(folder)
  const file = join(folder, 'same.tar.gz')
  const second = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const first = writeArchive(file, async (add) => {
    await add('first', Buffer.from('first'))
    await second.promise
  })
  const late = writeArchive(file, async (add) => {
    await add('second', Buffer.from('second'))
    second.resolve()
    await end.promise
  })
  const refused = assert.rejects(late, { message: /is there already/ })
  await first
  const whole = { first: Buffer.from('first') }
  assert.deepEqual(await read(await readFile(file)), whole)
  end.resolve()
  await refused
  assert.deepEqual(await read(await readFile(file)), whole)
  await rm(join(folder, 'copy.tar.gz'))
  assert.deepEqual(await readdir(folder), [...before, 'same.tar.gz'].sort())
})

test('an archive whose folder is not there says so, and no other fault does', async (t) => {
  const { folder } = await archiveOf(t)
  const gone = Object.assign(new Error('the socket of the database is gone'), { code: 'ENOENT' })
  await assert.rejects(
    writeArchive(join(folder, 'new.tar.gz'), () => Promise.reject(gone)),
    gone,
  )
  const writing = writeArchive(join(folder, 'none', 'new.tar.gz'), async () => {})
  await assert.rejects(writing, { message: /its folder is not there/ })
})

test('sealed keys open under their passphrase alone, and not when they were altered', async () => {
  const keys = { SECRET_KEY: 'ab'.repeat(32) }
  const box = await sealKeys(keys, 'correct horse battery')
  assert.ok(!box.includes(keys.SECRET_KEY))
  assert.deepEqual(await openSealedKeys(box, 'correct horse battery'), keys)
  const refused = { code: 'backup.passphrase' }
  await assert.rejects(openSealedKeys(box, 'correct horse batterz'), refused)
  const parts = JSON.parse(box.toString())
  const nonce = Buffer.alloc(12).toString('base64')
  const altered = Buffer.from(JSON.stringify({ ...parts, nonce }))
  await assert.rejects(openSealedKeys(altered, 'correct horse battery'), refused)
})
