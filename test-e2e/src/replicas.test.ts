import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig as readAuth } from '@guildhall/auth/config'
import { start as startAuth } from '@guildhall/auth/main'
import { exchange, getName, refresh, revoke } from '@guildhall/contracts/auth'
import { deleteMachineToken, whoami } from '@guildhall/contracts/tokens'
import { readConfig as readGateway } from '@guildhall/gateway/config'
import { start as startGateway } from '@guildhall/gateway/main'
import { people } from '@guildhall/sandbox/demo'
import { cleanUp, until, whileStopped } from '@guildhall/service/testing'
import { browse, clientOf, machineTokenOf, orgIdOf } from './people.ts'
import { testStack } from './stack.ts'

/** A stack with a second auth, and a second gateway in front of that one. */
async function twoOfEach(t: Parameters<typeof testStack>[0]) {
  const stack = await testStack(t)
  const settings = { ...stack.settings, AUTH_PORT: '0', PORT: '0', ADMIN_PORT: '0' }
  const auth = await startAuth(readAuth(settings))
  cleanUp(t, () => auth[Symbol.asyncDispose]())
  const gateway = await startGateway(readGateway({ ...settings, AUTH_URL: auth.url }))
  cleanUp(t, () => gateway[Symbol.asyncDispose]())
  await until(async () => (await fetch(`${gateway.url}/ready`)).status === 200)
  const nameBy = async (url: string, token: string) =>
    (await clientOf(url, token).call(getName, {})).status
  return { stack, urls: [stack.url, gateway.url] as const, nameBy }
}

/** The one-time code of a sign-in that went through the gateway at `url`. */
async function codeFrom(url: string) {
  const { location } = await browse(url, people.officer)
  return new URL(location).searchParams.get('code') ?? assert.fail(location)
}

test('what one replica issues counts at the other, and what one revokes at neither', async (t) => {
  const { urls, nameBy } = await twoOfEach(t)
  const [first, second] = urls
  const code = await codeFrom(first)
  const both = await Promise.all(
    urls.map((url) => clientOf(url).call(exchange, { body: { code } })),
  )
  const pairs = both.flatMap((reply) => (reply.status === 200 ? [reply.body] : []))
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 400], 'one code, one pair')
  const [pair = assert.fail()] = pairs
  for (const url of urls) assert.equal(await nameBy(url, pair.access_token), 200)

  const renewed = await clientOf(second).call(refresh, {
    body: { refresh_token: pair.refresh_token },
  })
  assert.ok(renewed.status === 200)
  await clientOf(first, renewed.body.access_token).call(revoke, { body: {} })
  await until(async () => (await nameBy(second, renewed.body.access_token)) === 401, 1_000)
  assert.equal(await nameBy(first, renewed.body.access_token), 401)
})

test('a broker that was away changes neither', async (t) => {
  const { stack, urls, nameBy } = await twoOfEach(t)
  const [first, second] = urls
  const kept = await stack.signIn(people.officer)
  const ended = await stack.signIn(people.officer)
  for (const { access_token } of [kept, ended])
    for (const url of urls) assert.equal(await nameBy(url, access_token), 200)
  const code = await codeFrom(first)
  const officer = clientOf(first, kept.access_token)
  const machine = await machineTokenOf(officer, ['knowledge:read'])
  const whoamiBy = async (url: string) =>
    (await clientOf(url, machine.token).call(whoami, {})).status
  for (const url of urls) assert.equal(await whoamiBy(url), 200)
  const gone = { org_id: String(await orgIdOf(officer)), token_id: machine.id }
  process.kill(stack.children().nats ?? assert.fail(), 'SIGKILL')
  await clientOf(first, ended.access_token).call(revoke, { body: {} })
  await until(async () => {
    const reply = await officer.call(deleteMachineToken, { params: gone })
    return reply.status === 200
  })
  for (const url of urls) await until(async () => (await whoamiBy(url)) === 401, 2_000)
  const pair = await until(async () => {
    const reply = await clientOf(second).call(exchange, { body: { code } })
    return reply.status === 200 && reply.body
  })
  for (const url of urls) {
    await until(async () => (await nameBy(url, ended.access_token)) === 401)
    await until(async () => (await nameBy(url, kept.access_token)) === 200)
    assert.equal(await nameBy(url, pair.access_token), 200)
  }
})

test('while the broker hangs nothing revoked is let in, and nothing that a gateway cannot know of', async (t) => {
  const { stack, urls, nameBy } = await twoOfEach(t)
  const [first, second] = urls
  const ended = await stack.signIn(people.officer)
  for (const url of urls) assert.equal(await nameBy(url, ended.access_token), 200)
  const nats = stack.children().nats ?? assert.fail()
  await whileStopped(nats, async () => {
    const revoked = await clientOf(first, ended.access_token).call(revoke, { body: {} })
    assert.equal(revoked.status, 200)
    const refused = async (url: string) => (await nameBy(url, ended.access_token)) !== 200
    await until(async () => (await refused(first)) && refused(second), 6_000)
  })
  for (const url of urls) await until(async () => (await nameBy(url, ended.access_token)) === 401)
})
