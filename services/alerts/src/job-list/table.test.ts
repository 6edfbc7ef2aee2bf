import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { JobsConfig } from '@guildhall/contracts/alerts'
import { postedDay } from '../lists/dates.ts'
import { jobRow, tableOf } from '../testing.ts'
import { dateFault, jobsFrom, withoutTracking } from './rules.ts'
import { type Row, readTable } from './table.ts'
import { readTableApart } from './thread.ts'

const NOW = new Date('2024-10-24T12:00:00Z')
const config = (more: object = {}) => JobsConfig.parse({ repo: 'lists/jobs', ...more })
const row = (text: string) => readTable(tableOf(jobRow('Above'), text))?.[1]
const link = '[Apply](https://jobs.test/1)'

const CASES: [what: string, text: string, expected: Partial<Row>][] = [
  ['an arrow is the company above', `| ↳ | R | Riga | ${link} | Oct 1 |`, { company: 'Acme' }],
  ['an empty company is the one above', `| | R | Riga | ${link} | Oct 1 |`, { company: 'Acme' }],
  [
    'bold and linked names',
    `| **[Beta](https://b.test)** | R | x | ${link} | 1d |`,
    { company: 'Beta' },
  ],
  ['an escaped bar', `| B | Web \\| Mobile | x | ${link} | 1d |`, { role: 'Web | Mobile' }],
  [
    'marks of visas stay',
    `| B | Dev 🛂 🇺🇸 | x | ${link} | 1d |`,
    { role: 'Dev 🛂 🇺🇸', closed: false },
  ],
  ['a lock closes', '| B | R | x | 🔒 | 1d |', { closed: true, link: null }],
  ['a lock beside the role', `| B | R 🔒 | x | ${link} | 1d |`, { closed: true, role: 'R' }],
  ['a strike-through closes', `| B | ~~R~~ | x | ${link} | 1d |`, { closed: true, role: 'R' }],
  ['an HTML strike closes', `| B | <s>R</s> | x | ${link} | 1d |`, { closed: true }],
  [
    'two kinds of breaks',
    `| B | R | a</br>b<br>c<br/>d | ${link} | 1d |`,
    { locations: ['a', 'b', 'c', 'd'] },
  ],
  [
    'folded locations',
    `| B | R | <details><summary>**2 locations**</summary>a</br>b</details> | ${link} | 1d |`,
    { locations: ['a', 'b'] },
  ],
  [
    'an HTML link',
    '| B | R | x | <a href="https://j.test/?a=1&amp;b=2"><img src="i"></a> | 1d |',
    { link: 'https://j.test/?a=1&b=2' },
  ],
  [
    'a link that is none of the web',
    '| B | R | x | <a href="javascript:alert(1)">x</a> | 1d |',
    { link: null },
  ],
]
for (const [what, text, expected] of CASES) {
  test(`a row of a job table: ${what}`, () => {
    const found = row(text)
    for (const [name, value] of Object.entries(expected))
      assert.deepEqual(found?.[name as keyof Row], value, name)
  })
}

test('a table in HTML, with other columns beside and other names for them, is read alike', () => {
  const html = `<table><thead><tr><th>#</th><th>Company</th><th>Role</th><th>Location</th><th>Application</th><th>Age</th></tr></thead>
<tbody><tr><td>1</td><td><strong><a href="https://b.test">Beta</a></strong></td><td>Dev</td><td>Riga</br>Oslo</td>
<td><a href="https://j.test/1">Apply</a> <a href="https://other.test">x</a></td><td>3d</td></tr></tbody></table>`
  assert.deepEqual(readTable(`| a | b |\n| - | - |\n| 1 | 2 |\n\n${html}`), [
    {
      company: 'Beta',
      role: 'Dev',
      locations: ['Riga', 'Oslo'],
      link: 'https://j.test/1',
      closed: false,
      posted: '3d',
    },
  ])
  assert.equal(readTable('| Company | Role |\n| - | - |\n| a | b |'), undefined)
})

for (const [text, day] of [
  ['Oct 24', '2024-10-24'],
  ['Oct 06', '2024-10-06'],
  ['October 6', '2024-10-06'],
  ['Oct 25', '2024-10-25'],
  ['Oct 26', '2023-10-26'],
  ['24 Oct', '2024-10-24'],
  ['October 6th, 2023', '2023-10-06'],
  ['6 Oct. 2023', '2023-10-06'],
  ['10/06/2026', '2026-10-06'],
  ['13/06/2026', undefined],
  ['Feb 29, 2023', undefined],
  ['Today', '2024-10-24'],
  ['2026-10-06', '2026-10-06'],
  ['0d', '2024-10-24'],
  ['3d', '2024-10-21'],
  ['2mo', '2024-08-25'],
  ['Feb 29', '2024-02-29'],
  ['Feb 30', undefined],
  ['soon', undefined],
] as const) {
  test(`${text} in a list read on 24 October 2024 is ${day ?? 'no day'}`, () => {
    const found = postedDay(text, NOW)
    assert.equal(found === undefined ? undefined : new Date(found).toISOString().slice(0, 10), day)
  })
}

for (const [text, at, day, fits] of [
  ['Nov 22', '2026-11-21T23:30:00Z', '2026-11-22', true],
  ['Nov 22', '2026-11-21T09:59:00Z', '2025-11-22', false],
  ['Jan 1', '2026-12-31T23:30:00Z', '2027-01-01', true],
  ['Feb 29', '2025-02-28T12:00:00Z', '2024-02-29', false],
] as const) {
  test(`${text} is ${day} at ${at}: the day that it is somewhere is not ahead`, () => {
    const found = postedDay(text, new Date(at))
    assert.equal(new Date(found ?? 0).toISOString().slice(0, 10), day)
    const rows = readTable(tableOf(jobRow('Dev', text))) ?? []
    const [job] = jobsFrom(rows, config({ max_age_days: 1 }), new Date(at))
    assert.equal(job?.fits, fits)
  })
}

test('a list none of whose dates can be read is told, where old rows are to be left out', () => {
  const fault = (more: object, ...dates: string[]) =>
    dateFault(
      readTable(tableOf(...dates.map((date) => jobRow('Dev', date)))) ?? [],
      config(more),
      NOW,
    )
  assert.match(
    fault({}, 'soon', 'later') ?? '',
    /README\.md of lists\/jobs .* "soon": .*max_age_days/,
  )
  assert.equal(fault({}, 'soon', 'Oct 1'), null)
  assert.equal(fault({}), null)
  assert.equal(fault({ max_age_days: 0 }, 'soon'), null)
})

test('a table without rows is not taken for the list where another has them', () => {
  const table = tableOf(jobRow('Dev'))
  const found = readTable(`${tableOf()}\n\n${table}\n\n${tableOf(jobRow('Other'))}`)
  assert.deepEqual(
    found?.map(({ role }) => role),
    ['Dev'],
  )
  assert.deepEqual(readTable(tableOf()), [])
})

test('tracking parameters are removed, and others stay', () => {
  const link =
    'https://j.test/a?utm_source=x&id=7&ref=y&source=z&gh_src=1&fbclid=2&gclid=3&gh_jid=9'
  assert.equal(withoutTracking(link), 'https://j.test/a?id=7&gh_jid=9')
  assert.equal(withoutTracking('https://j.test/#id=7&utm_source=x'), 'https://j.test/#id=7')
  assert.equal(withoutTracking('https://j.test/?id=1#utm_x=1'), 'https://j.test/?id=1')
})

test('closed, old and linkless rows do not go out, unless the feed says so', () => {
  const rows = readTable(
    tableOf(
      jobRow('Fresh', 'Oct 22'),
      jobRow('Old', 'Oct 21'),
      jobRow('Undated', 'soon'),
      `| B | ~~Closed~~ | x | ${link} | 0d |`,
      '| B | Linkless | x | 🔒 | 0d |',
    ),
  )
  const fitting = (more: object) =>
    jobsFrom(rows ?? [], config(more), NOW).flatMap(({ fits, fields }) =>
      fits ? [fields.Role] : [],
    )
  assert.deepEqual(fitting({}), ['Undated', 'Fresh'])
  assert.deepEqual(fitting({ max_age_days: 0 }), ['Undated', 'Old', 'Fresh'])
  assert.deepEqual(fitting({ skip_closed: false }), ['Closed', 'Undated', 'Fresh'])
})

test('a row is the same however it is spaced, marked or tracked, and another in another place', () => {
  const keys = (...rows: string[]) => {
    const found = jobsFrom(readTable(tableOf(...rows)) ?? [], config(), NOW)
    return found.length
  }
  const at = (role: string, place: string, more = '') =>
    `| B | ${role} | ${place} | [x](https://j.test/1${more}) | 1d |`
  assert.equal(keys(at('Dev', 'Riga'), at('dev 🛂', 'Riga<br>Oslo', '?utm_source=q')), 1)
  assert.equal(keys(at('Dev', 'Riga'), at('Dev', 'Oslo')), 2)
  assert.equal(keys(at('Dev', 'Riga'), at('Dev', 'Riga', '?id=2')), 2)
})

test('a list that takes too long to read is given up', async () => {
  await assert.rejects(readTableApart(tableOf(jobRow('x')), 1), { code: 'feed.too_complex' })
})

/** Real lists beside the repository; a user's clone has none. */
const BESIDE = fileURLToPath(new URL('../../../../../shared/data/alerts', import.meta.url))
const REAL = join(process.env.ALERTS_DATA_DIR || BESIDE, 'internships.md')
test('a real list of 1 641 rows is read whole', async (t) => {
  const text = await readFile(REAL, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined)
    return t.diagnostic('The real list is not beside the repository: nothing was read')
  const rows = (await readTableApart(text)) ?? []
  assert.equal(rows.length, 1641)
  assert.equal(rows.filter(({ closed }) => closed).length, 349)
  assert.ok(rows.every(({ company, locations }) => company !== '↳' && locations.length > 0))
  assert.ok(rows.every(({ posted }) => postedDay(posted, NOW) !== undefined))
  assert.ok(rows.every(({ link, closed }) => link !== null || closed))
  const jobs = jobsFrom(rows, config(), NOW)
  assert.equal(jobs.filter(({ fits }) => fits).length, 64)
  assert.ok(jobs.every(({ url }) => !url?.includes('utm_')))
})
