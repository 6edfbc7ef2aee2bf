import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOf } from './message.ts'

test('a message is cut after a whole character, and no backtick ends its code', () => {
  const told = { service: 'auth', kind: '`K`', location: null, route: null, org: 'demo' }
  const text = textOf({ ...told, message: `${'x'.repeat(999)}🦊`, returned: false })
  assert.ok(text.isWellFormed())
  assert.match(text, /^\*\*New error\*\* in auth \(demo\): `'K'`\n```\nx{999}/)
})
