import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createAppToken, deleteAppToken, listAppTokens } from '@guildhall/contracts/app-tokens'
import { getName } from '@guildhall/contracts/auth'
import { listMemberRoles, listMembers } from '@guildhall/contracts/members'
import { putModules } from '@guildhall/contracts/orgs'
import { people } from '@guildhall/sandbox/demo'
import { until, wholeFile } from '@guildhall/service/testing'
import { bearer } from './people.ts'
import { type TestStack, testStack } from './stack.ts'

const params = { org: 'demo' }

let stack: TestStack
let officer: string
const file = wholeFile()
before(async () => {
  stack = await testStack(file)
  officer = (await stack.signIn(people.officer)).access_token
})

const switchCompute = async (compute: boolean) => {
  const org_id = String(await stack.orgId(officer))
  const body = { modules: { compute } }
  const reply = await stack.as(officer).call(putModules, { params: { org_id }, body })
  assert.equal(reply.status, 200)
}

test('an officer lists the members and roles of their server; an agent does not', async () => {
  await switchCompute(true)
  const client = stack.as(officer)
  const found = await client.call(listMembers, { params, query: { q: 'mil' } })
  assert.deepEqual(found.status === 200 && found.body.members.map(({ id }) => id), [
    people.member.id,
  ])
  assert.equal((await client.call(listMemberRoles, { params })).status, 200)
  const agent = (await stack.machineToken(officer, ['compute:manage'])).token
  assert.equal((await stack.as(agent).call(listMembers, { params })).status, 401)
})

test('while compute is off the directory is no route', async () => {
  await switchCompute(false)
  const asked = () => stack.as(officer).call(listMembers, { params })
  await until(async () => (await asked()).status === 404)
  await switchCompute(true)
  await until(async () => (await asked()).status === 200)
})

test('what the chat platform asks to wait reaches the officer as Retry-After', async () => {
  const { world } = stack.sandbox
  Object.assign(world.faults, { chat: 'rate_limited', chatRetryAfterSeconds: 20 })
  const headers = bearer(officer)
  const reply = await fetch(`${stack.url}/api/compute/demo/members?q=nobody`, { headers })
  world.faults.chat = undefined
  assert.equal(reply.status, 503)
  assert.ok(Number(reply.headers.get('retry-after')) >= 20)
})

test('an app token opens what its officer may, makes none, and ends everywhere within a second', async () => {
  const client = stack.as(officer)
  const made = await client.call(createAppToken, { query: { appname: 'signage' } })
  assert.ok(made.status === 200)
  const app = stack.as(made.body.app_token)
  assert.equal((await app.call(listMemberRoles, { params })).status, 200)
  assert.equal((await app.call(createAppToken, { query: { appname: 'more' } })).status, 403)
  assert.equal((await app.call(listAppTokens, {})).status, 403)
  const listed = await client.call(listAppTokens, {})
  assert.ok(listed.status === 200)
  const [{ id } = { id: '' }] = listed.body
  assert.equal((await client.call(deleteAppToken, { params: { id } })).status, 200)
  await until(async () => (await app.call(getName, {})).status === 401, 1_000)
})
