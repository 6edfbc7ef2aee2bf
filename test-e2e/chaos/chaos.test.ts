import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import { chaos } from './chaos.ts'
import { tablesOf } from './report.ts'
import { startForChaos } from './start.ts'

/** Everything is killed; several at a time, since `npm run test:chaos` takes them one by one. */
const GROUPS = [
  ['postgres'],
  ['nats'],
  ['gateway'],
  ['store', 'mcp'],
  ['auth', 'knowledge', 'calendar'],
  ['ops', 'compute', 'agents', 'alerts'],
  ['postgres', 'nats'],
]

test('while everything is killed in turn nothing acknowledged is lost, told twice or left undone', async (t) => {
  const processes = await startForChaos()
  cleanUp(t, () => processes[Symbol.asyncDispose]())
  const report = await chaos(processes, GROUPS, (line) => t.diagnostic(line))
  t.diagnostic(tablesOf(report))
  assert.deepEqual(report.faults, [])
})
