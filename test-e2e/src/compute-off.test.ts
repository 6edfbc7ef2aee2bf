import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actOnPod, createPod, getPod } from '@guildhall/contracts/compute'
import { putModules } from '@guildhall/contracts/orgs'
import { planPodSession } from '@guildhall/contracts/pod-sessions'
import { deactivateOrg } from '@guildhall/contracts/superadmin'
import { people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import type { Client } from './people.ts'
import { operatorAt } from './run-operator.ts'
import { type TestStack, testStack } from './stack.ts'

const MINUTE_MS = 60_000
const org = { org: 'demo' }

/** A pod of the demo club that runs, with a session of the given minutes from now. */
async function podWithSession(officer: Client, from: number, to: number) {
  const made = await officer.call(createPod, { params: org, body: {} })
  assert.ok(made.status === 201, JSON.stringify(made.body))
  const params = { ...org, pod_id: made.body.pod.id }
  await until(async () => {
    const reply = await officer.call(getPod, { params })
    return reply.status === 200 && reply.body.pod.status === 'RUNNING'
  }, 30_000)
  const at = (minutes: number) => new Date(Date.now() + minutes * MINUTE_MS).toISOString()
  const body = { start_at: at(from), stop_at: at(to) }
  assert.equal((await officer.call(planPodSession, { params, body })).status, 201)
  return params.pod_id
}

/** What the pod host itself says of a pod, which nobody of an org without compute can ask the product. */
async function onHost({ sandbox }: TestStack, pod: string): Promise<string> {
  const headers = { authorization: `Bearer ${sandbox.world.keys.podhost}` }
  const reply = await fetch(`${sandbox.podhostUrl}/pods/${pod}`, { headers })
  return ((await reply.json()) as { status: string }).status
}

test('pods of a club that has compute off, and then of a deactivated one, are stopped after their sessions and never started', async (t) => {
  const clock = { ahead: 0 }
  const stack = await testStack(t, {}, () => new Date(Date.now() + clock.ahead))
  const { access_token } = await stack.signIn(people.officer)
  const officer = stack.as(access_token)
  const superadmin = stack.as((await stack.signIn(people.superadmin)).access_token)
  const org_id = String(await stack.orgId(access_token))
  const operator = operatorAt(stack)
  const schedule = async (minutes: number) => {
    clock.ahead = minutes * MINUTE_MS
    const { code, err, out } = await operator('jobs', 'run', 'compute.schedule')
    assert.equal(code, 0, err + out)
  }
  const first = await podWithSession(officer, 2, 4)
  const second = await podWithSession(officer, 7, 9)
  const stopped = await podWithSession(officer, 12, 20)
  const stop = { params: { ...org, pod_id: stopped }, body: { action: 'stop' as const } }
  assert.equal((await officer.call(actOnPod, stop)).status, 200)

  const off = { params: { org_id }, body: { modules: { compute: false } } }
  assert.equal((await officer.call(putModules, off)).status, 200)
  await schedule(5)
  const states = () => Promise.all([first, second, stopped].map((pod) => onHost(stack, pod)))
  assert.deepEqual(await states(), ['EXITED', 'RUNNING', 'EXITED'])

  const gone = await superadmin.call(deactivateOrg, { params: { org_id } })
  assert.equal(gone.status, 200)
  await schedule(10)
  assert.deepEqual(await states(), ['EXITED', 'EXITED', 'EXITED'])
})
