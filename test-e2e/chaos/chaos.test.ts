import assert from 'node:assert/strict'
import { test } from 'node:test'
import { services } from '@guildhall/contracts/names'
import { cleanUp } from '@guildhall/service/testing'
import { chaos } from './chaos.ts'
import { tablesOf } from './report.ts'
import { startForChaos } from './start.ts'

/** Services that are killed together, since `npm run test:chaos` takes them one by one. */
const TOGETHER = 4
const groupOf = (n: number) => services.slice(n * TOGETHER, (n + 1) * TOGETHER)

/** Other tests run beside it. */
const REST_MS = 500

/** Everything is killed. */
const GROUPS = [
  ['postgres'],
  ['nats'],
  ['gateway'],
  ...Array.from({ length: Math.ceil(services.length / TOGETHER) }, (_, n) => groupOf(n)),
  ['postgres', 'nats'],
]

test('while everything is killed in turn nothing acknowledged is lost, told twice or left undone', async (t) => {
  const processes = await startForChaos()
  cleanUp(t, () => processes[Symbol.asyncDispose]())
  const told = (line: string) => t.diagnostic(line)
  const report = await chaos(processes, { groups: GROUPS, restMs: REST_MS, told })
  t.diagnostic(tablesOf(report))
  assert.deepEqual(report.faults, [])
})
