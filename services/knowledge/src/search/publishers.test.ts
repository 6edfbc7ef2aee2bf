import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { tellChanged } from '@guildhall/bus/changed'
import { busAs, quietLog, testBroker } from '@guildhall/bus/testing'
import { changed } from '@guildhall/contracts/event'
import { putSource, search } from '@guildhall/contracts/knowledge'
import { listPublishers } from '@guildhall/contracts/orgs'
import { until } from '@guildhall/service/testing'
import { testKnowledge } from '../testing.ts'
import { body, member } from '../testing-bodies.ts'
import { createLegs } from './legs.ts'
import { createPublishers } from './publishers.ts'

const SECOND_MS = 1_000

/** A public source of org 1, and what the orgs 1 and 2 find. */
async function published(t: Parameters<typeof testKnowledge>[0]) {
  const knowledge = await testKnowledge(t, { LOG_LEVEL: 'fatal' })
  const publisher = knowledge.as(member(1, { publisher: true }))
  await publisher.call(putSource, { params: { key: 'a' }, body: { ...body('fox'), public: true } })
  const found = async (org: number) => {
    const reply = await knowledge.as(member(org)).call(search, { body: { query: 'fox' } })
    assert.ok(reply.status === 200)
    return reply.body.results.length
  }
  assert.deepEqual([await found(1), await found(2)], [1, 1])
  return { ...knowledge, found }
}

test('sources of a publisher that is unmarked or deactivated vanish from other orgs within a second', async (t) => {
  const { publishers, auth, found } = await published(t)
  publishers.delete(1)
  tellChanged(auth, changed.org, 1)
  await until(async () => (await found(2)) === 0, SECOND_MS)
  assert.equal(await found(1), 1, 'its own searches find them')
  publishers.add(1)
  tellChanged(auth, changed.org, 1)
  await until(async () => (await found(2)) === 1, SECOND_MS)
})

test('a change that was not heard of counts when what was asked has ended', async (t) => {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  const ids = new Set([1])
  const asked: string[][] = []
  answer(auth, listPublishers, async ({ prefixes }) => {
    asked.push(prefixes)
    return { org_ids: [...ids] }
  })
  await auth.nats.flush()
  const bus = await busAs(t, { url: nats.url, peer: 'knowledge' })
  const leg = createLegs(quietLog).auth
  const publishers = createPublishers({ bus, prefixes: ['demo'], leg, keptMs: 500 })
  assert.deepEqual(await Promise.all([publishers(), publishers()]), [[1], [1]])
  ids.delete(1)
  assert.deepEqual(await publishers(), [1], 'what was asked is kept')
  assert.deepEqual(asked, [['demo']])
  await until(async () => (await publishers()).length === 0, SECOND_MS)
})

test('while auth does not answer, searches find what is the own org’s and fail none', async (t) => {
  const { auth, found, publishers } = await published(t)
  tellChanged(auth, changed.org, 1)
  await auth.nats.flush()
  await auth[Symbol.asyncDispose]()
  await until(async () => (await found(2)) === 0)
  assert.equal(await found(1), 1)
  assert.ok(publishers.has(1))
})
