import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routes } from '@guildhall/contracts/routes'
import { tryEveryRoute } from './access.ts'
import { nameOf, rules, VERDICTS } from './verdicts.ts'

test('every route has one line in policy.tsv, and every line a route', () => {
  assert.deepEqual(rules.map(nameOf).sort(), routes.map(({ route }) => nameOf(route)).sort())
  for (const rule of rules) assert.ok(rule.caller in VERDICTS, `${nameOf(rule)}: ${rule.caller}`)
})

tryEveryRoute(true)
