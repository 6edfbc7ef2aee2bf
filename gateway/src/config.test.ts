import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'

const needed = { INTERNAL_KEY: '11'.repeat(32), NATS_URL: 'nats://127.0.0.1:4222' }

test('a setting that cannot be is named with what is accepted', () => {
  for (const [name, value, said] of [
    ['ALLOWED_ORIGINS', '*', /ALLOWED_ORIGINS/],
    ['ALLOWED_ORIGINS', 'https://a.test, app.example.org', /ALLOWED_ORIGINS/],
    ['TRUST_PROXY', 'garbage', /TRUST_PROXY[\s\S]*a number of proxies, or addresses/],
    ['TRUST_PROXY', '10.0.0.0/99', /TRUST_PROXY/],
    ['ACCOUNTS_BASE_URL', 'club.example.org', /ACCOUNTS_BASE_URL/],
  ] as const)
    assert.throws(() => readConfig({ ...needed, [name]: value }), said, `${name}=${value}`)
})

test('proxies are a number, or addresses and networks', () => {
  for (const [text, read] of [
    ['2', 2],
    ['loopback, 10.0.0.0/8,fd00::/8', ['loopback', '10.0.0.0/8', 'fd00::/8']],
    ['', []],
  ] as const)
    assert.deepEqual(readConfig({ ...needed, TRUST_PROXY: text }).TRUST_PROXY, read)
})
