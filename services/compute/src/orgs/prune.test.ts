import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pruneJobs } from '@guildhall/contracts/ops'
import { newId } from '@guildhall/service/id'
import { madePod, testCompute } from '../testing.ts'

const DAY_MS = 86_400_000

test('sessions are kept for 90 days after their end and certificates for 400, open sessions as long as they are', async (t) => {
  const compute = await testCompute(t)
  const { id: pod_id } = await madePod(compute)
  const { id: pod } = await compute.db.selectFrom('pods').select('id').executeTakeFirstOrThrow()
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS)
  const by = { created_by: '10001', created_at: ago(500) }
  for (const [title, days, finished] of [
    ['kept', 89, true],
    ['open', 91, false],
    ['gone', 91, true],
  ] as const) {
    const times = { start_at: ago(days + 1), stop_at: ago(days) }
    const session = { id: newId(), pod, title, finished, ...times, ...by }
    await compute.db.insertInto('sessions').values(session).execute()
  }
  for (const [key_id, days] of [
    ['kept', 399],
    ['gone', 401],
  ] as const) {
    const times = { valid_after: ago(days + 1), valid_before: ago(days) }
    const said = { org_id: 1, pod_id, key_id, fingerprint: '', is_admin: false }
    await compute.db
      .insertInto('certificates')
      .values({ ...said, ...times })
      .execute()
  }
  for (let times = 0; times < 2; times++) {
    assert.equal((await compute.run(pruneJobs.compute)).state, 'done')
    const sessions = await compute.db.selectFrom('sessions').select('title').orderBy('id').execute()
    assert.deepEqual(
      sessions.map(({ title }) => title),
      ['kept', 'open'],
    )
    const certificates = await compute.db.selectFrom('certificates').select('key_id').execute()
    assert.deepEqual(certificates, [{ key_id: 'kept' }])
  }
})
