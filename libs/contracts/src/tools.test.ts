import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fits, officer, officerOrTool } from './caller.ts'
import { integrations } from './integrations.ts'
import { scopes } from './tokens.ts'
import { readsOnly } from './tool.ts'
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

test('what a scope needs its tools work on, and where limits may name tools there are some', () => {
  for (const { name, scope, integration } of tools) {
    if (scopes[scope].integration) assert.equal(integration, scopes[scope].integration, name)
  }
  for (const [key, { limits }] of Object.entries(integrations)) {
    const some = tools.some(({ integration }) => integration === key)
    assert.equal((limits as readonly string[]).includes('tools'), some, key)
  }
  const worksOn = (name: string) => tools.find((one) => one.name === name)?.integration
  assert.deepEqual(['apps.rollback', 'apps.register', 'events.list'].map(worksOn), [
    'podhost',
    'code_host',
    'notes',
  ])
})

test('what is told to only read changes nothing', () => {
  const reads = tools.filter((tool) => tool.route.method !== 'GET' && readsOnly(tool))
  assert.deepEqual(
    reads.map(({ name }) => name),
    ['knowledge.search', 'packs.query', 'compute.read_file'],
  )
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
