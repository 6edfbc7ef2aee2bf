import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectToPod } from '@guildhall/contracts/connect'
import { listFiles } from '@guildhall/contracts/pod-files'
import { madePod, member, OFFICER, officer, testCompute } from '../testing.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHcWQ6mQn5vUDGwsO4j1bZbrbzU1CLsGBrRFYOkLRSxM'

test('the pod of an app, which trusts no key of the org, refuses SSH and files with the reason', async (t) => {
  const compute = await testCompute(t)
  const { id: pod_id } = await madePod(compute)
  const params = { org: 'org1', pod_id }
  const stood = compute.world.pods.get(pod_id) ?? assert.fail()
  stood.env = { CLI_DEPLOYMENT: 'd1' }
  const files = await compute.as(officer()).call(listFiles, { params, query: {} })
  assert.ok(files.status === 409 && files.body.code === 'pod.no_ssh', JSON.stringify(files.body))
  const asked = { params, body: { public_key: KEY } }
  const connect = await compute.as(member(OFFICER, 'grace')).call(connectToPod, asked)
  assert.ok(connect.status === 409 && connect.body.code === 'pod.no_ssh')
})
