import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { services } from '@guildhall/contracts/names'
import { cleanUp } from '@guildhall/service/testing'
import { writeArchive } from './archive.ts'
import { ENTRIES, FORMAT } from './backup.ts'
import { readChecked } from './checked-backup.ts'
import { revisionsOfBuild } from './migrations.ts'

async function setUp(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-test-backup-'))
  cleanUp(t, () => rm(folder, { recursive: true, force: true }))
  const pairs = services.map(async (one) => [one, await revisionsOfBuild(one)] as const)
  const revisions = Object.fromEntries(await Promise.all(pairs))
  const head = {
    ...{ format: FORMAT, mode: null, key_ids: {}, revisions, tables: [], sequences: [] },
    taken_at: '2031-01-01T00:00:00.000Z',
  }
  let files = 0
  const checked = async (more: object) => {
    files += 1
    const file = join(folder, `${files}.tar.gz`)
    await writeArchive(file, async (add) => {
      await add(ENTRIES.head, Buffer.from(JSON.stringify({ ...head, ...more })))
      await add(ENTRIES.counts, Buffer.from('{}'))
    })
    return readChecked(file)
  }
  return { revisions, checked }
}

test('a backup of this build is read, and one of another revision is refused with both revisions', async (t) => {
  const { revisions, checked } = await setUp(t)
  const own = revisions.auth ?? assert.fail()
  assert.deepEqual((await checked({})).rows, {})
  const [last, ...earlier] = own.toReversed()
  assert.ok(last)
  const edited = [...earlier.toReversed(), { ...last, checksum: 'x' }]
  const newer = [...own, { name: '9999_later', checksum: 'x' }]
  for (const [auth, named] of [
    [earlier.toReversed(), earlier[0]?.name],
    [edited, last.name],
    [newer, '9999_later'],
    [[], 'none'],
  ] as const)
    await assert.rejects(checked({ revisions: { ...revisions, auth } }), {
      code: 'backup.other_revision',
      message: new RegExp(`has auth at revision ${named} .*this build at ${last.name}`),
    })
  const { auth: _, ...others } = revisions
  await assert.rejects(checked({ revisions: others }), { code: 'backup.other_revision' })
})

test('what is no backup of this format is refused', async (t) => {
  const { checked } = await setUp(t)
  for (const more of [{ format: 'guildhall backup 2' }, { tables: undefined }])
    await assert.rejects(checked(more), { code: 'backup.unknown' })
})
