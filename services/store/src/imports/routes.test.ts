import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { findJobRun, startJob } from '@guildhall/contracts/ops'
import { getImport, importEventCsv } from '@guildhall/contracts/point-imports'
import { deletePoints, getUserPoints, putPointsUser } from '@guildhall/contracts/points'
import { memberLogin } from '@guildhall/contracts/store-members'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { at, madeMember, officer, site, type TestStore, testStore } from '../testing.ts'
import { checkBooks } from '../testing-books.ts'
import { imported } from '../testing-imports.ts'

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
    errors_total: 1,
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
  assert.equal('awarded' in (await imported(store, fileOf(), { event: 'Finale' })), true)
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

test('an event is the same however its letters are written', async (t) => {
  const store = await testStore(t)
  await imported(store, fileOf(), { event: 'Kick' })
  const again = await imported(store, fileOf(), { event: 'KICK' })
  assert.ok('awarded' in again && again.awarded === 0)
  await store.db.updateTable('ledger').set({ source_key: null }).execute()
  const keyless = await imported(store, fileOf(), { event: 'kick' })
  assert.ok('awarded' in keyless && keyless.awarded === 0, 'one award of it is enough')
})

test('the same file after an email was corrected makes no second member', async (t) => {
  const store = await testStore(t)
  await imported(store, fileOf())
  const params = { org: 'org1', identifier: 'grace@example.org' }
  const body = { email: 'hopper@example.org' }
  assert.equal((await store.as(officer()).call(putPointsUser, { params, body })).status, 200)
  const again = await imported(store, fileOf())
  assert.ok('awarded' in again)
  assert.deepEqual([again.awarded, again.created, again.skipped], [0, 0, 4])
  assert.equal(await pointsOf(store, 'hopper@example.org'), 5)
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

test('a name that is too long is cut between characters, and the others are awarded too', async (t) => {
  const store = await testStore(t)
  const name = 'a'.repeat(199)
  const head = 'Email,First Name,Checked-In Date\n'
  const file = `${head}ada@example.org,${name}😀,x\ngrace@example.org,Grace,x\n`
  const result = await imported(store, file)
  assert.ok('awarded' in result && result.awarded === 2)
  const members = await store.db.selectFrom('memberships').select('name').orderBy('name').execute()
  assert.deepEqual(
    members.map((member) => member.name),
    ['Grace', name],
  )
})

test('an import whose run fails for good has failed, says so, and keeps no email', async (t) => {
  const store = await testStore(t)
  await sql`
    create function refused() returns trigger language plpgsql as
      $$ begin raise exception using errcode = '22000', message = 'secret of the database'; end $$
  `.execute(store.db)
  await sql`
    create trigger refused before insert on ledger for each statement execute function refused()
  `.execute(store.db)
  const failed = await imported(store, fileOf())
  assert.ok('awarded' in failed)
  assert.deepEqual([failed.state, failed.awarded, failed.errors_total], ['failed', 0, 1])
  assert.match(failed.errors[0]?.reason ?? '', /^Nothing was awarded.*send the file again$/)
  const rows = await store.db.selectFrom('imports').select('content').execute()
  assert.deepEqual(rows, [{ content: null }])
})

test('of a file of bad rows alone the first hundred are named, and its run can be looked at', async (t) => {
  const store = await testStore(t)
  const rows = Array.from({ length: 20_000 }, (_, n) => `no address ${n},x\n`).join('')
  const result = await imported(store, `Email,Checked-In Date\n${rows}`)
  assert.ok('awarded' in result)
  assert.deepEqual([result.errors.length, result.errors_total], [100, 20_000])
  const bus = await busAs(t, { url: store.settings.NATS_URL, peer: 'operator' })
  const { id } = await store.db.selectFrom('imports').select('id').executeTakeFirstOrThrow()
  const { run } = await ask(bus, findJobRun('store'), { id })
  assert.deepEqual(run?.result, { awarded: 0, skipped: 0, created: 0, errors_total: 20_000 })
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
  const long = { ...args, file_content: fileOf() + 'x'.repeat(60_000) }
  await assert.rejects(run(long), { code: 'job.invalid', message: /uploadEventCSV/ })
  const params = { org: 'org2', job_id: done.id }
  assert.equal((await store.as(officer(2)).call(getImport, { params })).status, 404)
})
