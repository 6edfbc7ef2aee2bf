import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Service, services } from '@guildhall/contracts/names'
import { allRows, allStructure } from './all-rows.ts'
import { fillStack } from './filled-stack.ts'
import { operatorAt } from './run-operator.ts'
import { testStack } from './stack.ts'

/** The bus's own tables come first, so that one step back from the first revision of a service leaves them. */
const BUS = ['outbox', 'job_runs', 'idempotency_keys']

async function filledAndStopped(t: TestContext) {
  const stack = await testStack(t)
  await fillStack(stack)
  await stack[Symbol.asyncDispose]()
  return { operator: operatorAt(stack), url: String(stack.settings.DATABASE_URL) }
}

test('each service goes one step back and up again: its data stay, but for what the revision itself had added', async (t) => {
  const { operator, url } = await filledAndStopped(t)
  const structure = await allStructure(url)
  let before = await allRows(url)
  for (const service of services) {
    const down = await operator('migrate', 'down', service, '--yes', '--json')
    assert.equal(down.code, 0, down.err)
    const kept = await allRows(url)
    const up = await operator('migrate', 'up', '--json')
    assert.equal(up.code, 0, up.err)
    const after = await allRows(url)
    checkKept(service, { before, kept, after })
    before = after
  }
  assert.deepEqual(await allStructure(url), structure)
})

type Rows = Record<string, string[]>

/** Every table that was there between has its rows, and in them every column that was there. */
function checkKept(
  service: Service,
  { before, kept, after }: Record<'before' | 'kept' | 'after', Rows>,
) {
  if (service !== 'mcp')
    // it has no revision of its own
    for (const table of BUS) assert.ok(kept[`${service}.${table}`], `${service} keeps ${table}`)
  for (const [table, between] of Object.entries(kept)) {
    if (table.endsWith('.migrations')) continue
    const columns = Object.keys(JSON.parse(between[0] ?? '{}'))
    const only = (rows: string[] = []) =>
      rows
        .map((row) => {
          const all = JSON.parse(row)
          return JSON.stringify(columns.map((name) => all[name]))
        })
        .sort()
    assert.deepEqual(only(between), only(before[table]), `${table} one step back`)
    assert.deepEqual(only(after[table]), only(between), `${table} up again`)
  }
}
