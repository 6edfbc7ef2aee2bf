import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tools } from '@guildhall/contracts/tools'
import { requestOf } from './front-door.ts'

const ORG = { id: 1, prefix: 'org1', name: 'Org 1', modules: [], publisher: false }

test('whatever a tool is sent, its URL names the org of the token', () => {
  for (const { name, route } of tools) {
    const { params, query } = requestOf(route, ORG, { org: 'org2', org_id: 2 })
    const named = { ...query, ...params }
    if ('org' in named) assert.equal(named.org, 'org1', name)
    if ('org_id' in named) assert.equal(named.org_id, 1, name)
  }
  const info = tools.find(({ name }) => name === 'org.info') ?? assert.fail()
  assert.deepEqual(requestOf(info.route, ORG, { org_id: 2 }).params, { org_id: 1 })
})
