import assert from 'node:assert/strict'
import { glob, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const text = (path: string) => readFile(join(root, path), 'utf8')

test('the map of README.md has every service, and its benches are those that run', async () => {
  const readme = await text('README.md')
  for (const service of await readdir(join(root, 'services')))
    assert.ok(readme.includes(`| \`services/${service}\` `), service)
  const benches = [...(await text('bench/src/run.ts')).matchAll(/what === '(\w+)'/g)]
  assert.ok(benches.length > 5)
  const line = readme.split('\n').find((one) => one.startsWith('| `bench/`')) ?? ''
  for (const [, bench = ''] of benches.slice(1)) // the first is what runs without a name
    assert.match(line, new RegExp(`\`${bench}[\` ]`), bench)
})

test('README.md leads to every page for authors of agents', async () => {
  const [readme, pages] = [await text('README.md'), glob('docs/agents/*.md', { cwd: root })]
  const near = readme + (await text('docs/agents/README.md')).replaceAll('](', '](docs/agents/')
  for await (const page of pages) assert.ok(near.includes(`](${page})`), page)
  assert.ok(readme.includes('](docs/agents/mcp.md)'))
})

test('the page of a service names commands that a reader has', async () => {
  for await (const page of glob('services/*/README.md', { cwd: root }))
    assert.doesNotMatch(await text(page), /^ {4}(?!npm |node |curl )\S/m, page)
})
