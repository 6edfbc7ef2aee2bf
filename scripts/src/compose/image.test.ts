import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))

async function linesOf(file: string) {
  const text = await readFile(join(root, file), 'utf8')
  return text.split('\n').filter((line) => line && !line.startsWith('#'))
}

/** What people leave in a checkout, also in a folder of the product: backups, whole or half, and settings. */
const LEFT = ['*.tar.gz', '*.new', '.env*']

test('the image has what is named and nothing else of the checkout: no backup, key or setting', async () => {
  const [first, ...lines] = await linesOf('.dockerignore')
  assert.equal(first, '*')
  const named = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  for (const name of named)
    assert.ok(/^\w[\w.-]*$/.test(name) && existsSync(join(root, name)), name)
  const left = lines.slice(named.length) // the last line that fits a file decides
  for (const pattern of ['deploy/secrets', '**/.guildhall', ...LEFT.map((one) => `**/${one}`)])
    assert.ok(left.includes(pattern), pattern)
  assert.deepEqual(
    left.filter((line) => line.startsWith('!')),
    [],
  )
})

test('git takes no backup and no settings either', async () => {
  const lines = await linesOf('.gitignore')
  for (const pattern of LEFT) assert.ok(lines.includes(pattern), pattern)
  assert.deepEqual(
    lines.filter((line) => line.startsWith('!')),
    ['!.env.example'],
  )
})
