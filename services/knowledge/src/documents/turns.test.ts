import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns, type Whose } from './turns.ts'

const upload = (orgId: number): Whose => ({ orgId, kind: 'upload' })
const crawl = (orgId: number): Whose => ({ orgId, kind: 'crawl' })

/** Work that notes when it began, all asked for while the first is in hand. */
async function begun(asked: Record<string, Whose>) {
  const inTurn = createTurns()
  const order: string[] = []
  const held = Promise.withResolvers<void>()
  const works = [inTurn(upload(0), () => held.promise)]
  for (const [name, whose] of Object.entries(asked))
    works.push(inTurn(whose, async () => void order.push(name)))
  held.resolve()
  await Promise.all(works)
  return order.join(' ')
}

test('an org with much to do keeps no other waiting', async () => {
  const [one, two] = [upload(1), upload(2)]
  const order = await begun({ a1: one, a2: one, a3: one, b1: two, b2: two, c1: upload(3) })
  assert.equal(order, 'a1 b1 c1 a2 b2 a3')
})

test('crawls come after uploads, and by turns as well', async () => {
  const [one, two] = [crawl(1), crawl(2)]
  const order = await begun({ a1: one, a2: one, b1: two, u1: upload(1), u2: upload(2) })
  assert.equal(order, 'u1 u2 a1 b1 a2')
})

test('uploads without end do not keep crawls waiting: after three comes a crawl', async () => {
  const uploads = Array.from({ length: 8 }, (_, n) => [`u${n}`, upload(n + 1)])
  const crawls = { a1: crawl(1), a2: crawl(1), a3: crawl(1), a4: crawl(1) }
  const order = await begun({ ...crawls, ...Object.fromEntries(uploads) })
  assert.equal(order, 'u0 u1 a1 u2 u3 u4 a2 u5 u6 u7 a3 a4') // before u0 was the upload in hand
})

test('one runs at a time, and a failure is of its own work alone', async () => {
  const inTurn = createTurns()
  let running = 0
  const work = (fails: boolean) => async () => {
    assert.equal(++running, 1)
    await new Promise(setImmediate)
    running--
    if (fails) throw new Error('mine')
    return 'done'
  }
  const works = [true, false, true, false].map((fails) => inTurn(upload(1), work(fails)))
  const ends = await Promise.allSettled(works)
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
  )
})
