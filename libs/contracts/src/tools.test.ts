import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fits, officer, officerOrTool } from './caller.ts'
import { tools } from './tools.ts'

test('a tool may do what its scope is for: its route, and what it shows, ask for that scope', () => {
  assert.equal(new Set(tools.map(({ name }) => name)).size, tools.length)
  for (const { name, scope, route, confirm } of tools) {
    assert.match(name, /^[a-z]+\.[a-z_]+$/)
    for (const { caller, url } of [route, ...(confirm?.shows ? [confirm.shows] : [])]) {
      const { tool_scope, scope: ofMachine } = caller as { tool_scope?: string; scope?: string }
      assert.equal(tool_scope ?? ofMachine, scope, `${name}: ${url}`)
    }
  }
})

test('what changes something for good, or costs money, is a tool that asks for confirmation', () => {
  const asks = tools.filter(({ confirm }) => confirm).map(({ name }) => name)
  assert.deepEqual(asks, [
    'knowledge.delete_source',
    'knowledge.reindex',
    'points.award',
    'points.import_csv',
    'alerts.delete',
    'apps.delete',
    'apps.rollback',
    'apps.deploy',
    'compute.create_pod',
    'compute.pod_action',
    'compute.delete_session',
    'compute.write_file',
  ])
})

test('an officer route is open to a tool with its scope, and to no machine token by itself', () => {
  const need = officerOrTool('compute:manage')
  const token = { kind: 'machine', token_id: 't', token_kind: 'app', name: 'n' } as const
  const manager = { ...token, scopes: ['compute:manage'] }
  assert.ok(!fits(manager, need))
  assert.ok(fits({ ...manager, tool: 'compute.pods' }, need))
  assert.ok(!fits({ ...token, scopes: ['apps:read'], tool: 'compute.pods' }, need))
  assert.ok(!fits({ ...manager, tool: 'compute.pods' }, officer))
})
