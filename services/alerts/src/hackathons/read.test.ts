import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { itemsFrom } from './read.ts'
import { sources } from './sources.ts'

const day = (text: string) => Date.parse(`${text}T00:00:00Z`)
const window = { from: day('2026-03-01'), to: day('2026-05-30') }

test('entries of each source are read, and those that are broken are left out', () => {
  const club = sources.hackclub.read({
    ...{ name: ' Hack A ', website: 'https://a.test', start: '2026-03-02T16:00:00.000Z' },
    ...{
      end: '2026-03-03T16:00:00Z',
      city: 'Oslo',
      country: 'Norway',
      virtual: false,
      hybrid: true,
    },
  })
  assert.deepEqual(club, {
    ...{ name: 'Hack A', url: 'https://a.test/', location: 'Oslo, Norway', type: 'Hybrid' },
    ...{ start: day('2026-03-02'), end: day('2026-03-03') },
  })
  const euro = { name: 'B', url: 'javascript:x', date_start: '2026-04-01', location: 'Online' }
  assert.equal(sources.euro_hackathons.read(euro)?.url, null)
  assert.equal(sources.euro_hackathons.read(euro)?.type, 'Online')
  const list = { title: 'C', startDate: 'December 31', endDate: 'January 1', year: '2026' }
  assert.equal(sources.hackalist.read(list)?.end, day('2027-01-01'))
  for (const source of Object.values(sources)) assert.equal(source.read({ name: 'x' }), undefined)
})

test('an event of two sources is one, the soonest goes first, and others than those of the window wait', () => {
  const event = (name: string, start: string) => ({
    ...{
      name,
      url: null,
      start: day(start),
      end: day(start),
      location: '',
      type: 'Online' as const,
    },
  })
  const found = itemsFrom(
    [
      { name: 'hackclub', found: [event('Later', '2026-04-02'), event('Same', '2026-03-05')] },
      { name: 'hackalist', found: [event('SAME', '2026-03-05'), event('Far', '2026-08-01')] },
    ],
    window,
  )
  assert.deepEqual(
    found.map(({ key, source }) => [key, source]),
    [
      ['same', 'hackclub'],
      ['later', 'hackclub'],
    ],
  )
})

const BESIDE = fileURLToPath(new URL('../../../../../shared/data/alerts', import.meta.url))
for (const [month, count] of [
  ['2019-02', 4],
  ['2020-10', 12],
  ['2021-03', 10],
] as const) {
  test(`every event of the real Hackalist of ${month} is read`, async (t) => {
    const file = join(process.env.ALERTS_DATA_DIR || BESIDE, `hackalist-${month}.json`)
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (text === undefined) return t.diagnostic('It is not beside the repository: nothing was read')
    const entries = sources.hackalist.entries(JSON.parse(text)) ?? []
    assert.equal(entries.length, count)
    assert.ok(entries.every((entry) => sources.hackalist.read(entry)))
  })
}
