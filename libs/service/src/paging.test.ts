import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from './errors.ts'
import { pageOf } from './paging.ts'

const rows = ['e', 'd', 'c', 'b', 'a'].map((id) => ({ id }))
const read = async ({ before, limit }: { before: string | undefined; limit: number }) =>
  rows.filter(({ id }) => before === undefined || id < before).slice(0, limit)
const bound = ['audit', { org_id: 1 }]
const isInvalid = (error: unknown) => error instanceof AppError && error.code === 'cursor.invalid'

test('pages follow each other without a gap or a double, and the last says so', async () => {
  for (const limit of [1, 2, 3, 4, 5, 6]) {
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await pageOf({ limit, cursor, bound }, read)
      seen.push(...page.items.map(({ id }) => id))
      assert.ok(page.items.length <= limit)
      cursor = page.next_cursor ?? undefined
    } while (cursor)
    assert.deepEqual(seen, ['e', 'd', 'c', 'b', 'a'])
  }
})

test('an empty list has no next page', async () => {
  const page = await pageOf({ limit: 2, cursor: undefined, bound }, async () => [])
  assert.deepEqual(page, { items: [], next_cursor: null })
})

test('a cursor of another list, org or filter is refused', async () => {
  const { next_cursor } = await pageOf({ limit: 2, cursor: undefined, bound }, read)
  const cursor = next_cursor ?? ''
  assert.equal((await pageOf({ limit: 2, cursor, bound }, read)).items[0]?.id, 'c')
  for (const other of [['errors', { org_id: 1 }], ['audit', { org_id: 2 }], ['audit'], null]) {
    await assert.rejects(pageOf({ limit: 2, cursor, bound: other }, read), isInvalid)
  }
})

test('what is no cursor is refused', async () => {
  for (const cursor of [
    'x',
    '💥',
    'bnVsbA',
    'W10',
    'WzEsMl0',
    Buffer.from('7').toString('base64url'),
  ]) {
    await assert.rejects(pageOf({ limit: 2, cursor, bound }, read), isInvalid, cursor)
  }
})

test('a cursor whose key was made up is refused, and a fault of the database stays one', async () => {
  const { next_cursor } = await pageOf({ limit: 2, cursor: undefined, bound }, read)
  const failing = (code: string) => async () => {
    throw Object.assign(new Error('refused'), { code })
  }
  const asked = { limit: 2, cursor: next_cursor ?? '', bound }
  await assert.rejects(pageOf(asked, failing('22P02')), isInvalid)
  await assert.rejects(pageOf(asked, failing('57P01')), /refused/)
  await assert.rejects(pageOf({ ...asked, cursor: undefined }, failing('22P02')), /refused/)
})
