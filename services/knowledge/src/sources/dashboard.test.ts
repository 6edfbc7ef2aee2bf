import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  getSource,
  listSources,
  putSource,
  search,
  sourceDeleted,
} from '@guildhall/contracts/knowledge'
import {
  deleteOrgSource,
  getOrgSource,
  listOrgSources,
  searchAsOfficer,
} from '@guildhall/contracts/knowledge-dashboard'
import { testKnowledge } from '../testing.ts'
import { body, member, officer } from '../testing-bodies.ts'

const org = { org: 'org1' }

test('officers list, read, search and delete as machine tokens do', async (t) => {
  const { as, db } = await testKnowledge(t)
  const [machine, person] = [as(member(1)), as(officer(1))]
  for (const key of ['docs/a', 'docs/b'])
    await machine.call(putSource, { params: { key }, body: body(`fox ${key}`) })

  const list = await machine.call(listSources, {})
  const seen = await person.call(listOrgSources, { params: org })
  assert.ok(list.status === 200)
  assert.deepEqual(seen.body, { ...list.body, publisher: false })
  const first = await person.call(listOrgSources, { params: org, query: { limit: '1' } })
  assert.ok(first.status === 200 && first.body.next_cursor)
  const page = { limit: '1', cursor: first.body.next_cursor }
  const second = await person.call(listOrgSources, { params: org, query: page })
  assert.deepEqual(second.status === 200 && second.body.sources.map(({ key }) => key), ['docs/b'])

  const read = await machine.call(getSource, { params: { key: 'docs/a' } })
  const shown = await person.call(getOrgSource, { params: { ...org, key: 'docs/a' } })
  assert.deepEqual(shown.body, read.body)
  const found = await machine.call(search, { body: { query: 'fox' } })
  const foundToo = await person.call(searchAsOfficer, { params: org, body: { query: 'fox' } })
  assert.deepEqual(foundToo.body, found.body)

  const gone = await person.call(deleteOrgSource, { params: { ...org, key: 'docs/a' } })
  assert.deepEqual(gone.body, { deleted: true })
  assert.equal((await machine.call(getSource, { params: { key: 'docs/a' } })).status, 404)
  const again = await person.call(deleteOrgSource, { params: { ...org, key: 'docs/a' } })
  assert.equal(again.status, 404)
  const lines = await db.selectFrom('outbox').select('payload').orderBy('id').execute()
  const last = lines.at(-1)?.payload as Record<string, unknown>
  assert.deepEqual(
    [last.action, last.actor_kind, last.actor_id],
    [sourceDeleted.action, 'officer', '12345'],
  )
})

test('an officer of another org sees none of it', async (t) => {
  const { as } = await testKnowledge(t)
  await as(member(1)).call(putSource, { params: { key: 'a' }, body: body('fox') })
  const other = as(officer(2))
  const params = { org: 'org2', key: 'a' }
  assert.equal((await other.call(getOrgSource, { params })).status, 404)
  assert.equal((await other.call(deleteOrgSource, { params })).status, 404)
  const list = await other.call(listOrgSources, { params })
  assert.deepEqual(list.status === 200 && list.body.sources, [])
})

test('the list says whether the org may publish: marked, or named in the setting', async (t) => {
  const { as } = await testKnowledge(t, { KNOWLEDGE_PUBLISHERS: 'org2' })
  const publisher = async (who: ReturnType<typeof officer>) => {
    const reply = await as(who).call(listOrgSources, { params: org })
    return reply.status === 200 && reply.body.publisher
  }
  assert.equal(await publisher(officer(1)), false)
  assert.equal(await publisher(officer(1, { publisher: true })), true)
  assert.equal(await publisher(officer(2)), true)
})
