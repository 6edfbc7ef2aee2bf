import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { SettingsError } from '@guildhall/service/config'
import { filled, hasFixedHost } from './address.ts'
import { loadPacks, packFolders } from './load.ts'
import { packFolder } from './testing.ts'

const SHIPPED = packFolders({ KNOWLEDGE_PACKS_DIR: undefined })
const page = { key: 'a', url: 'https://a.test/', title: 'A', category: 'c' }
const query = { key: 'q', description: 'Q.', url: 'https://a.test/', category: 'c' }
const feed = { key: 'f', title: 'F', description: 'F.', kind: 'hackathons', config: {} }

test('the packs that ship are without faults, and campus is of the school that the operator names', async () => {
  const [campus, careers, ...more] = await loadPacks(SHIPPED, [])
  assert.ok(campus && careers && more.length === 0)
  assert.deepEqual(
    careers.feeds.map(({ key, kind }) => [key, kind]),
    [
      ['internships', 'github_jobs'],
      ['new-grad', 'github_jobs'],
      ['hackathons', 'hackathons'],
    ],
  )
  const topics = ['library-hours', 'events', 'courses', 'dining', 'scholarships', 'news']
  const keys = [...topics, 'shuttles', 'jobs', 'sports']
  assert.deepEqual(
    campus.queries.map(({ key }) => key),
    [...keys, 'web'],
  )
  assert.deepEqual([campus.pages, campus.lms_url, campus.unset.length], [[], null, 10])
  const settings = ['lms', 'library', 'events', 'courses', 'dining', 'scholarships', 'news']
  const given = [...settings, 'shuttles', 'jobs', 'sports'].map((name) => ({
    pack: 'campus',
    name: `${name}_url`,
    value: `https://${name}.school.test/`,
  }))
  const [own] = await loadPacks(SHIPPED, given)
  assert.deepEqual(
    own?.pages.map(({ key }) => key),
    keys,
  )
  assert.equal(own?.pages[0]?.url, 'https://library.school.test/')
  assert.deepEqual([own?.lms_url, own?.unset], ['https://lms.school.test/', []])
  const events = own?.queries.find(({ key }) => key === 'events')
  assert.ok(events && 'url' in events)
  const asked = { q: 'a&b?#', date: '1' }
  assert.equal(filled(events.url, asked), 'https://events.school.test/?date=1&q=a%26b%3F%23')
  assert.equal(filled(events.url, {}), 'https://events.school.test/')
})

test('every fault of a broken pack is told with its file, its place and what is accepted', async (t) => {
  for (const [file, said, module] of [
    ['{', /pack\.json: is not JSON/],
    [{ name: 'other' }, /pack\.json: name: must be that of its folder, p, and is other/],
    [{ title: '' }, /pack\.json: title: /],
    [{ colour: 1 }, /pack\.json: the file: .*colour/],
    [{ pages: [{ ...page, url: 'ftp://a.test/' }] }, /pages\.a\.url: ftp:.*must begin with http/],
    [{ pages: [{ ...page, url: 'https://u:p@a.test/' }] }, /pages\.a\.url: .*must begin/],
    [{ pages: [{ ...page, url: '{none}/x' }] }, /pages\.a\.url: \{none\}.*must begin/],
    [{ pages: [{ ...page, url: 'https://a.test/{x}' }] }, /\{x\} is no parameter/],
    [{ pages: [{ ...page, key: '../x' }] }, /pages\.a?.*key: a key/],
    [{ pages: [{ ...page, fetch_every_hours: 0 }] }, /pages\.a\.fetch_every_hours: /],
    [{ pages: [page, page] }, /pages: the key a stands twice/],
    [{ queries: [{ ...query, url: undefined }] }, /queries\.q: give either url or answer/],
    [
      { queries: [{ ...query, answer: 'x' }] },
      /queries\.q: give either/,
      'export const x = () => 1',
    ],
    [{ queries: [{ ...query, url: 'https://{x}.test/' }] }, /queries\.q\.url: .*must begin/],
    [
      {
        queries: [
          { ...query, url: 'https://a.test/{x}', params: [{ name: 'x', description: 'X' }] },
        ],
      },
      /\{x\} stands in the path, so it must be required and one/,
    ],
    [
      {
        queries: [
          { ...query, params: [{ name: 'x', description: 'X', choices: ['a'], example: 'b' }] },
        ],
      },
      /queries\.q\.params\.x\.example: is none of its choices/,
    ],
    [
      {
        settings: { s: { description: 'S' } },
        pages: [{ ...page, url: '{s}.evil.test/' }],
      },
      /pages\.a\.url: .*must begin/,
    ],
    [{ queries: [{ ...query, url: undefined, answer: 'x' }] }, /queries\.ts: cannot be loaded/],
    [
      { queries: [{ ...query, url: undefined, answer: 'y' }] },
      /queries\.ts: exports no function y/,
      'export const z = 1',
    ],
    [{ feeds: [{ ...feed, kind: 'rss' }] }, /feeds\.f\.kind: .*github_jobs/],
    [{ feeds: [{ ...feed, every_hours: 169 }] }, /feeds\.f\.every_hours: /],
    [{ feeds: [{ ...feed, config: { sources: ['x'] } }] }, /feeds\.f\.config\.sources\.0: /],
    [
      { feeds: [{ ...feed, kind: 'github_jobs', config: { repo: 'nope', max_age_days: 'x' } }] },
      /feeds\.f\.config\.repo: is a repository as owner\/name.*feeds\.f\.config\.max_age_days: /s,
    ],
    [{ feeds: [{ ...feed, config: { repo: 'a/b' } }] }, /feeds\.f\.config: .*repo/],
  ] as [object | string, RegExp, string?][]) {
    const { dir, put } = await packFolder(t)
    await put('p', file, module)
    await assert.rejects(loadPacks([dir], []), (error) => {
      assert.ok(error instanceof SettingsError)
      assert.match(error.message, said)
      return true
    })
  }
})

test('all faulty packs are told at once; a folder without a pack, one twice and settings of none are faults', async (t) => {
  const { dir, put } = await packFolder(t)
  await put('a', '[]')
  await put('b', { pages: [page, { ...page, title: 1 }] })
  await mkdir(join(dir, 'empty'))
  await assert.rejects(
    loadPacks([dir], []),
    /a\/pack\.json: .*b\/pack\.json: .*empty\/pack\.json: is missing/s,
  )
  await assert.rejects(
    loadPacks([join(dir, 'none')], []),
    /none: the folder of packs cannot be read/,
  )

  const other = await packFolder(t)
  await other.put('careers', {})
  await assert.rejects(loadPacks([...SHIPPED, other.dir], []), /there is already a pack careers/)
  const shared = await packFolder(t)
  await shared.put('own', { feeds: [{ ...feed, key: 'hackathons' }] })
  await assert.rejects(
    loadPacks([...SHIPPED, shared.dir], []),
    /own\/pack\.json: feeds\.hackathons: the pack careers has a feed with this key already/,
  )
  const value = 'https://a.test/'
  await assert.rejects(
    loadPacks(SHIPPED, [{ pack: 'x', name: 'y', value }]),
    /PACK_SETTINGS: there is no pack x; there are campus, careers/,
  )
  await assert.rejects(
    loadPacks(SHIPPED, [{ pack: 'campus', name: 'y', value }]),
    /PACK_SETTINGS: campus has no setting y; it has .*library_url/,
  )
})

test('an address is filled by escaped values; pairs without a value are left out and lists repeated', () => {
  const address = 'https://a.test/x/{id}?lang=en&q={q}&tag={tag}'
  const values = { id: 'a/../b', tag: ['c d', 'e'] }
  assert.equal(filled(address, values), 'https://a.test/x/a%2F..%2Fb?lang=en&tag=c%20d&tag=e')
  for (const bad of [
    'https://{h}/',
    'https://a{h}.test',
    'https://a.test{h}',
    'file:///etc',
    'https://a.test\\@b.test/',
  ])
    assert.ok(!hasFixedHost(bad), bad)
})

test('the pack of docs/packs.md is one', async (t) => {
  const text = await readFile(new URL('../../../../docs/packs.md', import.meta.url), 'utf8')
  const [, file = ''] = /```json\n(.*?)```/s.exec(text) ?? []
  const [, module = ''] = /```ts\n(.*?)```/s.exec(text) ?? []
  const { dir, put } = await packFolder(t)
  await put('makers', file, module)
  const [makers] = await loadPacks([dir], [])
  assert.ok(makers)
  const [workshops, free] = makers.queries
  assert.ok(workshops && 'url' in workshops && free && 'answer' in free)
  const asked = { month: '2026-10', tool: ['laser', 'saw'] }
  const url = 'https://makers.example.edu/workshops/2026-10?tool=laser&tool=saw'
  assert.equal(filled(workshops.url, asked), url)
  const machines = [
    { name: 'Laser', busy: true },
    { name: 'Saw', busy: false },
  ]
  const tools = {
    settings: makers.settings,
    json: async (at: string) => (at === 'https://makers.example.edu/api/machines' ? machines : []),
    page: () => assert.fail(),
    searchWeb: () => assert.fail(),
  }
  assert.equal((await free.answer({}, tools)).text, 'Saw')
})
