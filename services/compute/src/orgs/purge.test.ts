import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { madePod, testCompute } from '../testing.ts'

test('a purge deletes what is kept of the org, terminates its pods and may be repeated', async (t) => {
  const compute = await testCompute(t)
  await madePod(compute)
  await compute.db.insertInto('settings').values({ org_id: 2, pod_image: 'kept' }).execute()
  const purge = () => ask(compute.auth, purgeOrgOf('compute'), { org_id: 1 })
  await purge()
  await purge()
  assert.equal(compute.world.pods.size, 0)
  for (const table of ['pods', 'org_keys', 'certificates', 'user_folders'] as const)
    assert.deepEqual(await compute.db.selectFrom(table).selectAll().execute(), [], table)
  assert.equal((await compute.db.selectFrom('settings').selectAll().execute()).length, 1)
})
