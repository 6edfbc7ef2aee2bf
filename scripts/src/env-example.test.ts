import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { envExample } from './env-example.ts'

test('.env.example is what the settings say', async () => {
  const there = await readFile(new URL('../../.env.example', import.meta.url), 'utf8')
  assert.equal(
    there,
    envExample(),
    'run: node scripts/bootstrap.mjs scripts/src/env-example.ts --write',
  )
})

test('every setting of .env.example says what it means', () => {
  assert.doesNotMatch(envExample(), /^# +\(/m)
})
