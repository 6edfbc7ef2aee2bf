import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectToPod, listMyPods } from '@guildhall/contracts/connect'
import type { Route } from '@guildhall/contracts/route'
import type { Config } from './config.ts'
import { createLimits, networkOf } from './limits.ts'

test('an IPv6 network counts as one address, a mapped IPv4 address as itself', () => {
  const [one, two, other] = ['2001:db8:0:1::1', '2001:db8::1:ffff:2:3:4', '2001:db8:0:2::1']
  assert.equal(networkOf(one), networkOf(two))
  assert.notEqual(networkOf(one), networkOf(other))
  assert.equal(networkOf('::ffff:192.0.2.7'), '192.0.2.7')
  assert.equal(networkOf('192.0.2.7'), '192.0.2.7')
})

const RATES = {
  RATE_CREDENTIAL_PER_MINUTE: 100,
  RATE_MACHINE_PER_MINUTE: 100,
  RATE_SEARCH_PER_MINUTE: 100,
  RATE_CONNECT_PER_MINUTE: 3,
  RATE_ADDRESS_PER_MINUTE: 100,
  RATE_FAILED_SIGN_INS_PER_MINUTE: 100,
} as Config

test('certificates are counted by member, whichever of their sessions and CLI tokens asks', async () => {
  const limits = createLimits(RATES)
  async function send(credential: string, id: string, route: Route = connectToPod) {
    const arrival = { credential, ip: '192.0.2.7' }
    await limits.arrive(arrival, route)
    await limits.verified(arrival, route, { kind: 'person', id })
  }
  await send('session', '1')
  await send('cli token', '1')
  await send('another session', '1')
  await assert.rejects(send('cli token', '1'), { code: 'rate.exceeded' })
  await assert.rejects(send('a fourth session', '1'), { code: 'rate.exceeded' })
  await send('session of another', '2')
  await send('session', '1', listMyPods)
})
