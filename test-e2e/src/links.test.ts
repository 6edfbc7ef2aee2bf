import assert from 'node:assert/strict'
import { glob, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('every relative link of the documents leads somewhere', async () => {
  const pages = glob('{*.md,{docs,gateway,libs,services,test-e2e}/**/*.md}', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  })
  let links = 0
  for await (const page of pages) {
    const text = await readFile(join(root, page), 'utf8')
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)) {
      links += 1
      await assert.doesNotReject(stat(join(root, dirname(page), target)), `${page}: ${target}`)
    }
  }
  assert.ok(links > 10)
})

test('every test that docs/security.md names exists', async () => {
  const text = await readFile(join(root, 'docs/security.md'), 'utf8')
  const rows = [...text.matchAll(/\| `([\w/-]+\.test\.ts)`: (.+?) +\|$/gm)]
  assert.ok(rows.length >= 30, `${rows.length} rows`)
  const threats = [...text.matchAll(/^\| (?!threat|-)/gm)]
  assert.equal(rows.length, threats.length, 'each threat names its test')
  const tests = new Map<string, string>()
  const cwd = { cwd: root, exclude: ['**/node_modules/**'] }
  for await (const file of glob('{gateway,libs,services,test-e2e}/**/*.test.ts', cwd))
    tests.set(file, await readFile(join(root, file), 'utf8'))
  for (const [, file = '', name = ''] of rows) {
    const found = [...tests].some(
      ([path, source]) =>
        path.endsWith(`/${file}`) && titlesIn(source).some((one) => one.includes(name)),
    )
    assert.ok(found, `${file}: ${name}`)
  }
})

/** The first argument of each `test(…)`. */
const titlesIn = (source: string) =>
  [...source.matchAll(/^ *test\(\s*(?:'([^'\n]*)'|"([^"\n]*)"|`([^`]*)`)/gm)].map(
    ([, single, double, back]) => single ?? double ?? back ?? '',
  )
