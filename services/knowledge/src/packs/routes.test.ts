import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import {
  listCampusQueries,
  listOrgPacks,
  listPackQueries,
  listPacks,
  queryCampus,
  queryPack,
} from '@guildhall/contracts/packs'
import { callOf } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import type { Env } from '@guildhall/service/config'
import { newId } from '@guildhall/service/id'
import { testKnowledge } from '../testing.ts'
import { member, officer } from '../testing-bodies.ts'
import { page, says, testSite } from '../testing-site.ts'
import { packFolder } from './testing.ts'

const MODULE = `
export const both = async ({ day }, { page, json, settings }) => {
  const [hall, menu] = [await page(settings.base_url + 'hall'), await json(settings.base_url + 'menu.json')]
  return { url: '', title: 'Both', text: [day, menu.soup, hall.text].join('\\n') }
}
export const broken = async () => { throw new Error('no such thing') }
export const shapeless = async () => ({ text: 1 })
export const silent = () => new Promise(() => undefined)
`

/** knowledge with a pack of its own folder, whose pages are a site under test. */
async function asking(t: TestContext, more: Env = {}, timeoutMs?: number) {
  const site = await testSite(t)
  const { dir, put } = await packFolder(t)
  const meal = { name: 'meal', description: 'Meal', choices: ['lunch', 'dinner'] }
  const tags = { name: 'tags', description: 'Tags', many: true, example: 'vegan' }
  const hall = { name: 'hall', description: 'Hall', required: true, example: 'north' }
  const query = { description: 'Q.', category: 'food', index: false }
  const answers = ['both', 'broken', 'shapeless', 'silent']
  const file = {
    settings: { base_url: { description: 'The site' }, none_url: { description: 'Not set' } },
    queries: [
      {
        ...query,
        key: 'menu',
        params: [hall, meal, tags],
        url: '{base_url}/h/{hall}?meal={meal}&tag={tags}',
      },
      { ...query, key: 'page', url: '{base_url}/page' },
      { ...query, key: 'unset', url: '{none_url}' },
      ...answers.map((answer) => ({ ...query, key: answer, answer })),
    ].map((one) =>
      one.key === 'both' ? { ...one, params: [{ name: 'day', description: 'D' }] } : one,
    ),
  }
  await put('school', file, MODULE)
  const settings = {
    KNOWLEDGE_PACKS_DIR: dir,
    PACK_SETTINGS: `school.base_url=${site.at('/')}`,
    KNOWLEDGE_CRAWL_GAP_SECONDS: '0',
    ...more,
  }
  const bounds = timeoutMs === undefined ? {} : { timeoutMs }
  const knowledge = await testKnowledge(t, settings, undefined, { bounds })
  const put1 = (source: string, params: Record<string, unknown> = {}, pack = 'school') =>
    knowledge.as(member(1)).call(queryPack, { params: { pack }, body: { source, params } })
  return { ...knowledge, site, question: put1 }
}

test('a query asks its page for the parameters and answers its readable text, without robots.txt', async (t) => {
  const { site, question } = await asking(t)
  site.pages.set('/h/north%20hall', says(page('Menu', 'Soup of the day.')))
  const params = { hall: 'north hall', meal: 'LUNCH', tags: ['vegan', 'hot & cold'] }
  const answer = await question('menu', params)
  assert.ok(answer.status === 200, JSON.stringify(answer.body))
  const path = '/h/north%20hall?meal=lunch&tag=vegan&tag=hot%20%26%20cold'
  const { text, ...rest } = answer.body
  assert.deepEqual(rest, { pack: 'school', source: 'menu', url: site.at(path) })
  assert.match(text, /^Soup of the day\./m)
  assert.doesNotMatch(text, /Imprint|Footer|<p>/)
  assert.deepEqual(site.paths(), [path])
})

test('what does not fit is refused before anything is fetched: 404 and 422 say what there is', async (t) => {
  const { site, question } = await asking(t)
  for (const [source, pack, code, said] of [
    ['menu', 'none', 'pack.not_found', /There are campus, careers, school/],
    ['none', 'school', 'pack.query_not_found', /It has menu, page, unset/],
  ] as const) {
    const refused = await question(source, { hall: 'x' }, pack)
    assert.ok(refused.status === 404 && refused.body.code === code)
    assert.match(refused.body.error, said)
  }
  for (const [params, path, said] of [
    [{}, 'hall', /is required: a text of 1 to 200 characters such as north/],
    [{ hall: 'x', meal: 'tea' }, 'meal', /accepts one of lunch, dinner/],
    [{ hall: 'x', meal: ['lunch'] }, 'meal', /accepts one of lunch, dinner/],
    [{ hall: 'x', meal: { a: 1 } }, 'meal', /accepts one of lunch, dinner/],
    [{ hall: 'x', tags: ['a', 1, null] }, 'tags', /accepts a list, each a text/],
    [{ hall: '..' }, 'hall', /is required/],
    [{ hall: 'x'.repeat(201) }, 'hall', /is required/],
    [{ hall: 'x', color: 'red' }, 'color', /is no parameter; accepted are hall, meal, tags/],
    [{ hall: 'x', constructor: 'red' }, 'constructor', /is no parameter/],
  ] as const) {
    const refused = await question('menu', params)
    assert.ok(refused.status === 422, JSON.stringify(params))
    const { code, details } = refused.body
    assert.equal(code, 'pack.bad_parameter')
    assert.deepEqual(
      details?.map((one) => one.path),
      [`/body/params/${path}`],
    )
    assert.match(details?.[0]?.message ?? '', said)
  }
  const none = await question('page', { x: 1 })
  assert.ok(none.status === 422 && /the query has none/.test(none.body.error))
  assert.deepEqual(site.paths(), [])
})

test('a page that fails is 502, an address that is not set 503, and nothing inside the network is read', async (t) => {
  const { site, question } = await asking(t, {}, 2_000)
  const secret = { location: `http://127.0.0.2:${site.port}/page` }
  for (const [answer, said] of [
    [says('', {}, 404), /answered 404/],
    [says('', {}, 500), /answered 500/],
    [says('', secret, 302), /leads to an address that is not on the public internet/],
    [says('x', { 'content-type': 'image/png' }), /image\/png/],
    [() => undefined, /in time|within/],
  ] as const) {
    site.pages.set('/page', answer)
    const failed = await question('page')
    assert.ok(failed.status === 502, JSON.stringify(failed.body))
    assert.match(failed.body.error, said)
  }
  const unset = await question('unset')
  assert.ok(unset.status === 503 && /school\.none_url=/.test(unset.body.error))
  for (const source of ['broken', 'shapeless', 'silent']) {
    const failed = await question(source)
    assert.ok(failed.status === 502, source)
    assert.doesNotMatch(failed.body.error, /no such thing/)
  }
})

test('a function of the pack makes an answer of several pages', async (t) => {
  const { site, question } = await asking(t)
  site.pages.set('/hall', says(page('Hall', 'Open until nine.')))
  site.pages.set('/menu.json', says('{"soup":"Leek"}', { 'content-type': 'application/json' }))
  const answer = await question('both', { day: 7 })
  assert.ok(answer.status === 200, JSON.stringify(answer.body))
  assert.equal(answer.body.url, '')
  assert.match(answer.body.text, /^7\nLeek\nOpen until nine\./)
})

test('an answer is cut at the end of a line, by the setting or its earlier name', async (t) => {
  for (const [name, most] of [
    ['PACK_QUERY_MAX_CHARS', 120],
    ['CAMPUS_QUERY_MAX_CHARS', 100],
  ] as const) {
    const { site, question } = await asking(t, { [name]: String(most) })
    const lines = Array.from({ length: 9 }, (_, n) => `${n} ${'word '.repeat(8)}end`)
    site.pages.set('/page', says(lines.join('\n'), { 'content-type': 'text/plain' }))
    const cut = await question('page')
    assert.ok(cut.status === 200)
    assert.equal(cut.body.text, lines.slice(0, 2).join('\n'))
  }
})

test('the web query asks the search service; without one it is 503, and one that fails is 502', async (t) => {
  const { site, question, as, setSecrets } = await asking(t)
  const unset = await question('web', { words: 'badgers' }, 'campus')
  assert.ok(unset.status === 503 && unset.body.code === 'pack.search_unset')
  await setSecrets(1, { search_service_url: site.at('/sx/'), search_service_engines: 'brave' })
  const results = [
    { url: 'https://a.test/', title: 'Badgers', content: 'They dig.' },
    { url: 'https://b.test/', title: '', content: null },
  ]
  site.pages.set('/sx/search', says(JSON.stringify({ results })))
  const legacy = await as(member(1)).call(queryCampus, {
    body: { source: 'web', params: { words: 'badgers & co' } },
  })
  assert.ok(legacy.status === 200, JSON.stringify(legacy.body))
  const text = '1. Badgers\nhttps://a.test/\nThey dig.\n\n2. https://b.test/\nhttps://b.test/'
  assert.deepEqual(legacy.body, { pack: 'campus', source: 'web', url: '', text })
  assert.deepEqual(site.paths(), ['/sx/search?q=badgers+%26+co&format=json&engines=brave'])
  for (const broken of [says('<html>'), says('{}'), says('', {}, 403)]) {
    site.pages.set('/sx/search', broken)
    const failed = await question('web', { words: 'x' }, 'campus')
    assert.ok(failed.status === 502 && failed.body.code === 'search.failed')
    assert.doesNotMatch(failed.body.error, /site\.test/)
  }
  await setSecrets(1, { search_service_url: 'http://127.0.0.2:1/' })
  assert.equal((await question('web', { words: 'x' }, 'campus')).status, 502)
})

test('the deployment has a search service for orgs without their own, wherever it stands', async (t) => {
  const sx = await testSite(t)
  sx.pages.set('/search', says('{"results":[]}'))
  const url = `http://127.0.0.1:${sx.port}`
  const { question } = await asking(t, { SEARCH_SERVICE_URL: url })
  const found = await question('web', { words: 'x' }, 'campus')
  assert.ok(found.status === 200 && found.body.text === 'The web search found nothing.')
  assert.deepEqual(sx.paths(), ['/search?q=x&format=json&engines=google%2Cbrave%2Cbing'])
})

test('agents and officers see the packs, and agents ask them by a tool', async (t) => {
  const { as, settings, site } = await asking(t)
  const agent = as(member(1))
  const listed = await agent.call(listPacks, {})
  assert.ok(listed.status === 200)
  const { packs } = listed.body
  assert.deepEqual(
    packs.map(({ name, sources }) => [name, sources]),
    [
      ['campus', 0],
      ['careers', 0],
      ['school', 0],
    ],
  )
  assert.deepEqual(packs[2]?.unset, ['none_url'])
  const shown = await as(officer(1)).call(listOrgPacks, { params: { org: 'org1' } })
  assert.deepEqual(shown.body, listed.body)
  const queries = await agent.call(listPackQueries, { params: { pack: 'school' } })
  assert.ok(queries.status === 200)
  assert.deepEqual(queries.body.queries, packs[2]?.queries)
  const [hall, meal] = queries.body.queries[0]?.params ?? []
  assert.deepEqual(
    [hall?.required, hall?.choices, meal?.choices],
    [true, null, ['lunch', 'dinner']],
  )
  const unknown = await agent.call(listPackQueries, { params: { pack: 'none' } })
  assert.equal(unknown.status, 404)
  const campus = await agent.call(listCampusQueries, {})
  assert.ok(campus.status === 200 && campus.body.queries.some(({ key }) => key === 'web'))

  site.pages.set('/page', says(page('Page', 'Read by a tool.')))
  const mcp = await busAs(t, { url: settings.NATS_URL, peer: 'mcp' })
  const tool = tools.find(({ name }) => name === 'packs.query') ?? assert.fail()
  const caller = { token_id: newId(), token_kind: 'agent' as const, name: 'helper' }
  const org = { id: 1, prefix: 'org1', name: 'Org 1', modules: ['knowledge'], publisher: false }
  const args = { caller: { ...caller, scopes: ['knowledge:read'] }, org, preview: false }
  const input = { pack: 'school', source: 'page' }
  const { answer } = await ask(mcp, callOf(tool), { ...args, input })
  assert.match(JSON.stringify(answer), /Read by a tool/)
  await assert.rejects(
    ask(mcp, callOf(tool), { ...args, input: { ...input, params: { x: '1' } } }),
    {
      kind: 'unprocessable',
      code: 'pack.bad_parameter',
    },
  )
  const off = { ...args, org: { ...org, modules: [] }, input }
  await assert.rejects(ask(mcp, callOf(tool), off), { code: 'tool.not_allowed' })
})
