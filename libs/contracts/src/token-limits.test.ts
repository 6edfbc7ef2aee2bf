import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withinLimits } from './token-limits.ts'

const limits = {
  github: { repos: ['acme/*', 'other/s?te'], tools: [] },
  notes: { tools: ['page.read'] },
}

test('a missing entry means no limit, an empty list nothing', () => {
  assert.ok(withinLimits({}, 'github', 'repos', 'any/thing'))
  assert.ok(withinLimits(limits, 'podhost', 'tools', 'pods.list'))
  assert.ok(withinLimits(limits, 'notes', 'repos', 'any/thing'))
  assert.ok(withinLimits(limits, 'constructor', 'tools', 'pods.list'))
  assert.ok(!withinLimits(limits, 'github', 'tools', 'issues.list'))
})

test('globs match the whole name and its capitals', () => {
  const may = (name: string) => withinLimits(limits, 'github', 'repos', name)
  for (const name of ['acme/site', 'acme/', 'acme/a/b', 'other/site', 'other/sate'])
    assert.ok(may(name), name)
  for (const name of ['Acme/site', 'my-acme/site', 'acme', 'other/site2', 'other/ste', ''])
    assert.ok(!may(name), name)
})

test('other signs of patterns stand for themselves, and many stars take no time', () => {
  const may = (glob: string, name: string) =>
    withinLimits({ a: { tools: [glob] } }, 'a', 'tools', name)
  assert.ok(may('a.b[c]+', 'a.b[c]+') && !may('a.b', 'axb') && !may('[ab]', 'a'))
  assert.ok(may('*.read', 'page.read') && may('**', '') && may('a*b*c', 'a-b-b-c'))
  assert.ok(!may(`${'*a'.repeat(100)}`, `${'a'.repeat(2_000)}b`))
})
