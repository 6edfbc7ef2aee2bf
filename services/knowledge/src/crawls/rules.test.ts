import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byHost, checkShrinking, difference, dueAfter, hostOf } from './rules.ts'

test('failures double the wait from ten minutes up to the period', () => {
  const now = new Date('2026-11-21T12:00:00Z')
  const minutes = (failures: number, hours: number) =>
    (dueAfter(now, failures, hours).getTime() - now.getTime()) / 60_000
  assert.deepEqual(
    [0, 1, 2, 3, 9].map((n) => minutes(n, 2)),
    [120, 10, 20, 40, 120],
  )
  assert.equal(minutes(5_000, 720), 720 * 60)
})

test('a text of half the length is fine, a shorter one is not, and short ones are not compared', () => {
  checkShrinking(null, 0)
  checkShrinking(499, 1)
  checkShrinking(500, 250)
  assert.throws(() => checkShrinking(500, 249), { kind: 'conflict', code: 'crawl.shrunk' })
})

test('another page or title is told apart from other labels', () => {
  const defined = { url: 'http://a/', category: 'c', public: false, title: null, enabled: true }
  const before = { ...defined, fetch_every_hours: 24 }
  assert.equal(difference(before, { ...before }), 'none')
  assert.equal(difference(before, { ...before, enabled: false }), 'labels')
  for (const other of [{ url: 'http://b/' }, { title: 'T' }])
    assert.equal(difference(before, { ...before, ...other }), 'page')
})

test('a host is one whatever its port, scheme and final dot', () => {
  const urls = ['http://a.test/1', 'https://A.test:8443/2', 'http://a.test./3', 'http://b.test/']
  assert.deepEqual(urls.map(hostOf), ['a.test', 'a.test', 'a.test', 'b.test'])
  assert.deepEqual(
    byHost(urls.map((url) => ({ url }))).map(({ length }) => length),
    [3, 1],
  )
})
