import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changePodAccess, getPod, listPods } from '@guildhall/contracts/compute'
import { connectToPod, listMyPods } from '@guildhall/contracts/connect'
import type { Route } from '@guildhall/contracts/route'
import {
  CALLER_HEADER,
  callerKey,
  type Identity,
  signIdentity,
} from '@guildhall/service/caller-token'
import { until } from '@guildhall/service/testing'
import { madePod, member, officer, type TestCompute, testCompute } from '../testing.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHcWQ6mQn5vUDGwsO4j1bZbrbzU1CLsGBrRFYOkLRSxM'

/** As the gateway would; the answer with its headers. */
function send(compute: TestCompute, route: Route, pod: string, body?: object) {
  const { url, settings } = compute
  const path = route.url.replace(':org', 'org1').replace(':pod_id', pod)
  const who: Partial<Identity> = path.includes('/me/') ? member() : officer()
  const identity = { caller: { kind: 'public' as const }, org: undefined, request_id: 'test' }
  const target = { service: 'compute', method: route.method, path } as const
  const key = callerKey(settings.INTERNAL_KEY, 'compute')
  const signed = signIdentity({ ...identity, ...who }, target, key)
  const headers = { [CALLER_HEADER]: signed, 'content-type': 'application/json' }
  const sent = body && { body: JSON.stringify(body) }
  return fetch(url + path, { method: route.method, headers, ...sent })
}

test('while the host is silent every answer about pods says UNKNOWN and is marked', async (t) => {
  const compute = await testCompute(t)
  const { id } = await madePod(compute, { is_public: true })
  const table = [
    [listPods, undefined],
    [getPod, undefined],
    [changePodAccess, { is_public: true }],
    [listMyPods, undefined],
  ] as const
  for (const [route, body] of table) {
    const reply = await send(compute, route, id, body)
    assert.deepEqual([reply.status, reply.headers.get('x-degraded')], [200, null], route.url)
    assert.match(await reply.text(), /"RUNNING"/)
  }
  const failing = { at: 'GET /v2/pods', fault: 'failing' as const }
  compute.world.faults.push(...Array.from({ length: 100 }, () => failing))
  for (const [route, body] of table) {
    // what members are told may be two seconds old
    const reply = await until(async () => {
      const answer = await send(compute, route, id, body)
      return answer.headers.get('x-degraded') === 'podhost' && answer
    })
    assert.equal(reply.status, 200, route.url)
    assert.match(await reply.text(), /"UNKNOWN"/)
  }
  const connect = await send(compute, connectToPod, id, { public_key: KEY })
  assert.deepEqual([connect.status, connect.headers.get('retry-after')], [502, '60'])
  assert.match(await connect.text(), /try again in a minute/)
})
