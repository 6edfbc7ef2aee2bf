import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const SECTIONS = ['Errors', 'Limits', 'Versioning']

const rows = (await readFile(join(root, 'test-e2e/rows.tsv'), 'utf8'))
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .map((line) => {
    const [section = '', row = '', file = '', name = ''] = line.split('\t')
    return { section, row, file, name }
  })

test('every row of rows.tsv names a test that there is', async () => {
  assert.ok(rows.length > 60)
  for (const { row, file, name } of rows) {
    const text = await readFile(join(root, file), 'utf8')
    const names =
      text.match(/^ *test\((`[^`]*`|'[^\n]*'|"[^\n]*")(?!, \{[^}]*\b(skip|todo)\b)/gm) ?? []
    assert.ok(
      name && names.some((one) => one.includes(name)),
      `${row}: ${file} has no test "${name}"`,
    )
  }
})

test('every row of the specification has one', async (t) => {
  const specification = await specificationText(t)
  if (specification === undefined) return
  const wanted = SECTIONS.flatMap((section) =>
    rowsOf(specification, section).map((row) => ({ section, row })),
  )
  assert.ok(wanted.length > 45)
  const missing = wanted.filter(
    (one) => !rows.some(({ section, row }) => section === one.section && one.row.startsWith(row)),
  )
  assert.deepEqual(missing, [])
})

/** The specification, or nothing where it is not on this machine (a user's clone has none). */
async function specificationText(t: TestContext) {
  const file = join(root, '../shared/spec/interface.md')
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) t.diagnostic('the specification is not there: rows are not compared')
  return text
}

/** The first cells of the table of a section, and its list items. */
function rowsOf(specification: string, title: string) {
  const [, after = ''] = specification.split(`\n## ${title}\n`)
  const [section = ''] = after.split(/\n#{2,3} /)
  return section.split('\n').flatMap((line) => {
    const [, cell] = /^\| *([^|]*?) *\|/.exec(line) ?? /^(?:-|\d+\.) (.*)$/.exec(line) ?? []
    return !cell || /^(-+|Limit|Status)$/.test(cell) ? [] : [cell]
  })
}
