import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import { tellChanged } from '@guildhall/bus/changed'
import { busAs, testBroker } from '@guildhall/bus/testing'
import { findSession } from '@guildhall/contracts/accounts'
import {
  decideAccess,
  REVOKED_BEAT,
  REVOKED_BUCKET,
  REVOKED_COMPLETE,
  REVOKED_SILENCE_MS,
} from '@guildhall/contracts/auth'
import { type Changed, changed } from '@guildhall/contracts/event'
import { findOrg } from '@guildhall/contracts/orgs'
import { findMachineToken } from '@guildhall/contracts/tokens'
import { newId } from '@guildhall/service/id'
import { cleanUp, until } from '@guildhall/service/testing'
import { Kvm } from '@nats-io/kv'
import { createDirectory, type Directory } from './directory.ts'
import { watchRevocations } from './revocations.ts'

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

/** A gateway's directory, what auth was asked for it, and the bus on which a test is auth. */
async function setUp(t: Parameters<typeof testBroker>[0]) {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  const gateway = await busAs(t, { url: nats.url, peer: 'gateway' })
  const org = (id: number) => ({ id, prefix: `p${id}`, name: 'n', modules: [], publisher: false })
  const ids = { token: newId(), session: newId() }
  const asked = { org: 0, token: 0, session: 0, decision: 0 }
  /** What happens at auth while it is asked, and which time it is. */
  const meanwhile = { work: (_times: number) => {} }
  answer(auth, findOrg, async (by) => {
    meanwhile.work(++asked.org)
    return { org: 'prefix' in by ? { ...org(1), name: `as asked ${asked.org}` } : org(by.id) }
  })
  answer(auth, findMachineToken, async () => {
    meanwhile.work(++asked.token)
    const found = { id: ids.token, kind: 'agent' as const, name: 'agent', expires_at: null }
    return { token: { ...found, scopes: [], org: org(1) } }
  })
  answer(auth, findSession, async () => {
    meanwhile.work(++asked.session)
    return { session: { id: ids.session, chat_user_id: '12345', username: 'ada' } }
  })
  answer(auth, decideAccess, async () => {
    meanwhile.work(++asked.decision)
    const valid_until = new Date(Date.now() + 60_000).toISOString()
    return { allowed: true, reason: null, superadmin: false, valid_until }
  })
  await auth.nats.flush()
  const about = (directory: Directory) => async () => {
    await directory.findMachineToken('A'.repeat(43))
    await directory.findSession('session')
    await directory.decide({ chat_user_id: '12345' }, 1)
    return directory.findOrg('p1')
  }
  return { auth, gateway, ids, asked, meanwhile, about }
}

const EACH = { org: 1, token: 1, session: 1, decision: 1 }

test('a change drops what is about the thing that it names, and nothing else', async (t) => {
  const { auth, gateway, ids, asked, about } = await setUp(t)
  const find = about(createDirectory(gateway))
  await gateway.nats.flush()
  await find()
  const tell = async (thing: Changed, id: string | number) => {
    tellChanged(auth, thing, id)
    await ask(gateway, findOrg, { id: 9 }) // what auth told before has come
    asked.org--
    await find()
  }
  for (const thing of [changed.org, changed.machineToken, changed.session]) await tell(thing, 2)
  assert.deepEqual(asked, EACH)
  await tell(changed.machineToken, ids.token)
  assert.deepEqual(asked, { ...EACH, token: 2 })
  await tell(changed.session, ids.session)
  assert.deepEqual(asked, { ...EACH, token: 2, session: 2 })
  await tell(changed.org, 1)
  assert.deepEqual(asked, { org: 2, token: 3, session: 2, decision: 2 })
})

test('twenty changes during one answer refuse nobody, and only what they touch is asked again', async (t) => {
  const { auth, gateway, ids, asked, meanwhile, about } = await setUp(t)
  const find = about(createDirectory(gateway))
  await gateway.nats.flush()
  const tell = (org: number, token: string, session: string) => {
    for (let n = 0; n < 20; n++) {
      tellChanged(auth, changed.org, org)
      tellChanged(auth, changed.machineToken, token)
      tellChanged(auth, changed.session, session)
    }
  }
  meanwhile.work = () => tell(2, 'another', 'another')
  await find()
  assert.deepEqual(asked, EACH)

  tell(1, ids.token, ids.session)
  await auth.nats.flush()
  await ask(gateway, findOrg, { id: 9 }) // all of it has come
  Object.assign(asked, { org: 0, token: 0, session: 0, decision: 0 })
  meanwhile.work = (times) => {
    if (times === 1) tell(1, ids.token, ids.session)
  }
  assert.equal((await find())?.name, 'as asked 2', 'what it was before the change is never given')
  assert.deepEqual(asked, { org: 2, token: 2, session: 2, decision: 2 })
})

test('after a silence credentials are asked for anew, because messages were lost; orgs are not', async (t) => {
  const { auth, gateway, asked, about } = await setUp(t)
  const bucket = await new Kvm(auth.js).create(REVOKED_BUCKET)
  await bucket.put(REVOKED_COMPLETE, '')
  const beat = () => auth.nats.publish(`$KV.${REVOKED_BUCKET}.${REVOKED_BEAT}`)
  let silent = false
  const beating = setInterval(() => !silent && beat(), REVOKED_SILENCE_MS / 10)
  cleanUp(t, async () => clearInterval(beating))
  const ending = new AbortController()
  cleanUp(t, async () => ending.abort())
  const revocations = watchRevocations(gateway, ending.signal)
  const find = about(createDirectory(gateway, revocations))
  await until(() => revocations.hears())
  await find()
  await find()
  assert.deepEqual(asked, EACH)
  silent = true
  await until(() => !revocations.hears())
  await find()
  await find()
  assert.deepEqual(asked, { org: 1, token: 3, session: 3, decision: 1 }, 'while it is silent')
  silent = false
  await until(() => revocations.hears())
  await find()
  await find()
  assert.deepEqual(asked, { org: 1, token: 4, session: 4, decision: 1 })
})
