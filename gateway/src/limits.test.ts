import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkOf } from './limits.ts'

test('an IPv6 network counts as one address, a mapped IPv4 address as itself', () => {
  const [one, two, other] = ['2001:db8:0:1::1', '2001:db8::1:ffff:2:3:4', '2001:db8:0:2::1']
  assert.equal(networkOf(one), networkOf(two))
  assert.notEqual(networkOf(one), networkOf(other))
  assert.equal(networkOf('::ffff:192.0.2.7'), '192.0.2.7')
  assert.equal(networkOf('192.0.2.7'), '192.0.2.7')
})
