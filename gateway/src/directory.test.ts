import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { tellChanged } from '@guildhall/bus/changed'
import { busAs, testBroker } from '@guildhall/bus/testing'
import { decideAccess } from '@guildhall/contracts/auth'
import { changed } from '@guildhall/contracts/event'
import { findMachineToken } from '@guildhall/contracts/tokens'
import { until } from '@guildhall/service/testing'
import { createDirectory } from './directory.ts'

test('a decision is kept until valid_until and no longer', async (t) => {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  let asked = 0
  let allowed = true
  let validMs = 1_000
  answer(auth, decideAccess, async () => {
    asked++
    const valid_until = new Date(Date.now() + validMs).toISOString()
    const reason = allowed ? null : ('not_org_officer' as const)
    return { allowed, reason, superadmin: false, valid_until }
  })
  await auth.nats.flush()
  const directory = createDirectory(await busAs(t, { url: nats.url, peer: 'gateway' }))
  const person = { chat_user_id: '12345' }
  const decide = async () => (await directory.decide(person, 1)).allowed
  assert.deepEqual(await Promise.all([decide(), decide(), decide()]), [true, true, true])
  assert.equal(asked, 1)
  allowed = false
  validMs = 60_000
  await until(async () => !(await decide()), 5_000)
  assert.equal(await decide(), false)
  assert.equal(asked, 2)
  assert.equal((await directory.decide(person, 2)).allowed, false)
  assert.equal(asked, 3, 'of another org, nothing was known')
  await directory.decide({ ...person, type: 'app' }, 1)
  assert.equal(asked, 4, 'an app token is decided by itself')
  tellChanged(auth, changed.org, 1)
  await until(async () => (await decide()) === false && asked === 5)
})

test('a machine token is asked for once and again when it has changed', async (t) => {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  let asked = 0
  answer(auth, findMachineToken, async () => {
    asked++
    return { token: null }
  })
  await auth.nats.flush()
  const gateway = await busAs(t, { url: nats.url, peer: 'gateway' })
  const directory = createDirectory(gateway)
  await gateway.nats.flush()
  const find = () => directory.findMachineToken('A'.repeat(43))
  assert.deepEqual([await find(), await find(), asked], [undefined, undefined, 1])
  tellChanged(auth, changed.machineToken, 'x')
  await until(async () => (await find()) === undefined && asked === 2)
})
