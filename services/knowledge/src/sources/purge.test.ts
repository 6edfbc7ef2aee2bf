import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { putSource, search } from '@guildhall/contracts/knowledge'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { testKnowledge } from '../testing.ts'
import { body, member, vectorBody } from '../testing-bodies.ts'

test('a purge deletes all sources of the org, leaves others alone and may be repeated', async (t) => {
  const { as, db, auth } = await testKnowledge(t)
  const [gone, kept] = [as(member(1, { publisher: true })), as(member(2))]
  for (let n = 0; n < 3; n++)
    await gone.call(putSource, { params: { key: `k${n}` }, body: { ...body('fox'), public: true } })
  await gone.call(putSource, { params: { key: 'v' }, body: vectorBody('m1', ['fox', 0]) })
  await kept.call(putSource, { params: { key: 'k0' }, body: body('own fox') })
  const purge = () => ask(auth, purgeOrgOf('knowledge'), { org_id: 1 })
  await Promise.all([purge(), purge()])
  await purge()
  const orgs = await db.selectFrom('sources').select('org_id').execute()
  assert.deepEqual(orgs, [{ org_id: 2 }])
  for (const table of ['versions', 'chunks'] as const)
    assert.equal((await db.selectFrom(table).selectAll().execute()).length, 1, table)
  assert.deepEqual(await db.selectFrom('removed_versions').selectAll().execute(), [])
  const found = await kept.call(search, { body: { query: 'fox' } })
  assert.ok(found.status === 200)
  assert.deepEqual(
    found.body.results.map(({ content }) => content),
    ['own fox'],
  )
})
