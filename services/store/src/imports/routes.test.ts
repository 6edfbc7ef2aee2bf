import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { findJobRun, startJob } from '@guildhall/contracts/ops'
import { getImport, importEventCsv, uploadEventCsv } from '@guildhall/contracts/point-imports'
import { deletePoints, getUserPoints } from '@guildhall/contracts/points'
import { memberLogin } from '@guildhall/contracts/store-members'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { at, madeMember, officer, site, type TestStore, testStore } from '../testing.ts'
import { checkBooks } from '../testing-books.ts'

const ROWS = [
  ['Email', 'First Name', 'Last Name', 'Checked-In Date'],
  ['ada@example.org', 'Ada', 'Lovelace, Countess', '2026-10-01 18:00'],
  ['GRACE@example.org', 'Grace', 'Hopper', '2026-10-01 18:05'],
  ['absent@example.org', 'Ab', 'Sent', ''],
  ['grace@example.org', 'Grace', 'Again', '2026-10-01 18:07'],
  ['no address', 'No', 'One', '2026-10-01 18:09'],
]
function fileOf({ delimiter = ',', end = '\n', bom = '' } = {}) {
  const lines = ROWS.map((row) => row.map((cell) => `"${cell}"`).join(delimiter))
  return bom + lines.join(end) + end
}

async function imported(
  { as }: TestStore,
  content: string | Uint8Array<ArrayBuffer>,
  event = 'Kickoff',
) {
  const file = [new File([content], 'attendance.csv')]
  const body = { file, event_name: event, event_points: '5' }
  const sent = await as(officer()).call(uploadEventCsv, { ...at(), body })
  if (sent.status !== 202) return sent.body
  const params = { org: 'org1', job_id: sent.body.job_id }
  return until(async () => {
    const reply = await as(officer()).call(getImport, { params })
    assert.ok(reply.status === 200)
    return reply.body.state !== 'queued' && reply.body
  }, 20_000)
}
const pointsOf = async ({ as }: TestStore, identifier: string) => {
  const params = { org: 'org1', identifier }
  const reply = await as(officer()).call(getUserPoints, { params })
  return reply.status === 200 ? reply.body.total_points : undefined
}

test('an attendance file awards once, whatever its line ends, byte order mark and delimiter', async (t) => {
  const store = await testStore(t)
  await madeMember(store, 'ada@example.org', 1)
  const first = await imported(store, fileOf())
  assert.deepEqual(first, {
    ...{ state: 'done', awarded: 2, skipped: 2, created: 1 },
    errors: [{ row: 6, reason: 'Email is no email address, such as name@example.org' }],
  })
  const utf16 = Uint8Array.from(Buffer.from(`\uFEFF${fileOf()}`, 'utf16le'))
  for (const again of [
    fileOf(),
    fileOf({ end: '\r\n' }),
    fileOf({ end: '\r' }),
    fileOf({ bom: '\uFEFF' }),
    fileOf({ delimiter: ';', end: '\r\n', bom: '\uFEFF' }),
    utf16,
  ])
    assert.deepEqual(await imported(store, again), { ...first, awarded: 0, skipped: 4, created: 0 })
  assert.deepEqual(
    [await pointsOf(store, 'ada@example.org'), await pointsOf(store, 'grace@example.org')],
    [6, 5],
  )
  assert.equal('awarded' in (await imported(store, fileOf(), 'Finale')), true)
  assert.equal(await pointsOf(store, 'ada@example.org'), 11)
  await checkBooks(store.db)
})

test('of ten imports of the same file at once one awards', async (t) => {
  const store = await testStore(t)
  const results = await Promise.all(Array.from({ length: 10 }, () => imported(store, fileOf())))
  const awarded = results.map((result) => ('awarded' in result ? result.awarded : -1))
  assert.deepEqual(awarded.sort(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 2])
  await checkBooks(store.db)
})

test('an event that was taken back can be imported again', async (t) => {
  const store = await testStore(t)
  await imported(store, fileOf())
  const taken = await store
    .as(officer())
    .call(deletePoints, { ...at(), body: { event: 'Kickoff' } })
  assert.deepEqual(taken.body, { deleted: 2 })
  assert.equal(await pointsOf(store, 'grace@example.org'), 0)
  const again = await imported(store, fileOf())
  assert.ok('awarded' in again && again.awarded === 2)
})

test('a member who proved one email and is noted under another is awarded once', async (t) => {
  const store = await testStore(t)
  await store
    .as(site('ada@example.org'))
    .call(memberLogin, { ...at(), body: { email: 'ada@example.org' } })
  await store.db.updateTable('memberships').set({ email: 'grace@example.org' }).execute()
  const result = await imported(store, fileOf())
  assert.ok('awarded' in result)
  assert.deepEqual([result.awarded, result.created], [1, 0])
})

test('a file of another kind is refused at once, and says why', async (t) => {
  const store = await testStore(t)
  const codes = []
  for (const content of [
    '',
    'Name,Mail\na,b',
    'Email,"Checked-In Date\nx',
    'PK\x03\x04\0\0',
    new Uint8Array([0xc3, 0x28]),
  ]) {
    const refused = await imported(store, content)
    codes.push('code' in refused && refused.code)
  }
  assert.deepEqual(codes, [
    'import.columns',
    'import.columns',
    'import.csv',
    'import.csv',
    'import.csv',
  ])
  const long = `Email,Checked-In Date\n${'a@example.org,x\n'.repeat(20_001)}`
  const refused = await imported(store, long)
  assert.equal('code' in refused && refused.code, 'import.too_long')
})

test('the operator imports a file for an org, and officers of another see nothing of it', async (t) => {
  const store = await testStore(t)
  const bus = await busAs(t, { url: store.settings.NATS_URL, peer: 'operator' })
  const run = async (args: Record<string, string>) => {
    const id = newId()
    await ask(bus, startJob('store'), { id, job: importEventCsv.name, args })
    return until(async () => {
      const { run: found } = await ask(bus, findJobRun('store'), { id })
      return found?.finished_at ? found : undefined
    }, 20_000)
  }
  const args = { org_prefix: 'org1', event_name: 'Kickoff', event_points: '5' }
  const done = await run({ ...args, file_content: fileOf() })
  assert.deepEqual([done.state, (done.result as { awarded: number }).awarded], ['done', 2])
  assert.equal((await run({ ...args, file_content: 'no,such\ncolumns,x' })).state, 'failed')
  assert.equal(
    (await run({ ...args, org_prefix: 'nobody', file_content: fileOf() })).state,
    'failed',
  )
  const params = { org: 'org2', job_id: done.id }
  assert.equal((await store.as(officer(2)).call(getImport, { params })).status, 404)
})
