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
