import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { listPresets } from '@guildhall/contracts/alerts'
import { listSources, search } from '@guildhall/contracts/knowledge'
import {
  listPackQueries,
  listPacks,
  queryPack,
  syncOrgPack,
  syncPack,
} from '@guildhall/contracts/packs'
import { people } from '@guildhall/sandbox/demo'
import { cleanUp, until } from '@guildhall/service/testing'
import { testStack } from './stack.ts'

const INDEX_MS = 30_000
const makers = { params: { pack: 'makers' } }

/** A pack as docs/packs.md shows one: pages, a query that asks a page, one that is a function, and a feed. */
const PACK = {
  name: 'makers',
  title: 'Makerspace',
  description: 'Opening hours and machines of the makerspace.',
  settings: { site_url: { description: "The makerspace's site", default: 'http://127.0.0.1:9/' } },
  pages: [
    { key: 'machines', url: '{site_url}/machines', title: 'Machines', category: 'makerspace' },
  ],
  queries: [
    {
      key: 'free-now',
      description: 'Which machines are free.',
      params: [{ name: 'tool', description: 'Tool', choices: ['laser', 'saw'], required: true }],
      answer: 'freeNow',
      category: 'makerspace',
    },
    { key: 'page', description: 'The page.', url: '{site_url}/machines', category: 'makerspace' },
  ],
  feeds: [
    {
      ...{ key: 'makers-jobs', title: 'Hardware internships', description: 'A list.' },
      ...{ kind: 'github_jobs', config: { repo: 'example/hardware' }, every_hours: 6 },
    },
  ],
}
const MODULE = `export const freeNow = async ({ tool }, { settings }) => ({
  url: '', title: 'Free machines', text: 'The zeppelin ' + tool + ' of ' + settings.site_url + ' is free.'
})`

/** A stack whose operator has a pack of their own, with an agent of Demo Club and one of Rival Club. */
async function withPack(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), 'guildhall-test-packs-'))
  cleanUp(t, () => rm(dir, { recursive: true, force: true }))
  await mkdir(join(dir, PACK.name))
  await writeFile(join(dir, PACK.name, 'pack.json'), JSON.stringify(PACK))
  await writeFile(join(dir, PACK.name, 'queries.ts'), MODULE)
  const stack = await testStack(t, { KNOWLEDGE_PACKS_DIR: dir })
  const agentOf = async (person: { id: string }, prefix: string) => {
    const { access_token } = await stack.signIn(person)
    const scopes = ['knowledge:read' as const, 'knowledge:write' as const]
    const agent = stack.as((await stack.machineToken(access_token, scopes, prefix)).token)
    return { agent, officer: stack.as(access_token) }
  }
  const demo = await agentOf(people.officer, 'demo')
  const rival = await agentOf(people.rivalOfficer, 'rival')
  return { stack, ...demo, rival }
}

test("an operator's pack is synced, asked and offered as a feed, and what its query answered is found by search", async (t) => {
  const { agent, officer, rival } = await withPack(t)
  const listed = await agent.call(listPacks, {})
  assert.ok(listed.status === 200)
  assert.deepEqual(
    listed.body.packs.map(({ name }) => name),
    ['campus', 'careers', 'makers'],
  )
  const presets = await officer.call(listPresets, { params: { org: 'demo' } })
  assert.ok(presets.status === 200)
  const offered = presets.body.presets.filter(({ pack }) => pack === 'makers')
  assert.deepEqual(offered, [{ pack: 'makers', ...PACK.feeds[0], added: false }])

  assert.deepEqual((await agent.call(syncPack, makers)).body, { added: 1, updated: 0, retired: 0 })
  const params = { org: 'demo', name: 'makers' }
  const again = await officer.call(syncOrgPack, { params })
  assert.deepEqual([again.status, again.body], [202, { added: 0, updated: 0, retired: 0 }])

  const ask = (source: string, sent = {}) =>
    agent.call(queryPack, { ...makers, body: { source, params: sent } })
  const queries = await agent.call(listPackQueries, makers)
  assert.ok(queries.status === 200 && queries.body.queries.length === 2)
  const refused = await ask('free-now', { tool: 'hammer' })
  assert.ok(refused.status === 422 && /laser, saw/.test(JSON.stringify(refused.body)))
  const inside = await ask('page') // an address of this machine
  assert.equal(inside.status, 502, JSON.stringify(inside.body))
  const answer = await ask('free-now', { tool: 'LASER' })
  const text = 'The zeppelin laser of http://127.0.0.1:9/ is free.'
  assert.deepEqual(answer.body, { pack: 'makers', source: 'free-now', url: '', text })

  const found = await until(async () => {
    const reply = await agent.call(search, { body: { query: 'zeppelin laser' } })
    return reply.status === 200 && reply.body.results[0]
  }, INDEX_MS)
  assert.match(found.source_key, /^makers-live\/free-now-/)
  const sources = await agent.call(listSources, { query: {} })
  assert.ok(sources.status === 200)
  assert.deepEqual(
    sources.body.sources.map(({ key, public: open }) => [key.replace(/-\w{8,}$/, ''), open]),
    [
      ['makers-live/free-now', false],
      ['makers/machines', false],
    ],
  )
  const others = await rival.agent.call(listSources, { query: {} })
  assert.ok(others.status === 200 && others.body.sources.length === 0)
})

test('a token that may only read neither syncs a pack nor is told of another club', async (t) => {
  const { stack, officer, rival } = await withPack(t)
  const { access_token } = await stack.signIn(people.officer)
  const reader = stack.as((await stack.machineToken(access_token, ['knowledge:read'])).token)
  assert.equal((await reader.call(syncPack, makers)).status, 403)
  assert.equal((await stack.as().call(listPacks, {})).status, 401)
  assert.equal((await officer.call(queryPack, { ...makers, body: { source: 'page' } })).status, 401)
  const params = { org: 'demo', name: 'makers' }
  assert.equal((await rival.officer.call(syncOrgPack, { params })).status, 403)
  const listed = await reader.call(listPacks, {})
  assert.ok(listed.status === 200 && listed.body.packs.every(({ sources }) => sources === 0))
})
