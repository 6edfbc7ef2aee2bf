import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import { writeTestGroups } from './test-groups.ts'

/** Files of tests below a folder, as groups. */
async function groupsOf(t: TestContext, files: Record<string, string>) {
  const root = await mkdtemp(join(tmpdir(), 'guildhall-test-groups-'))
  cleanUp(t, () => rm(root, { recursive: true, force: true }))
  const all = { 'package.json': '{ "type": "module" }', ...files }
  for (const [path, text] of Object.entries(all)) {
    await mkdir(join(root, path, '..'), { recursive: true })
    await writeFile(join(root, path), text)
  }
  const groups = writeTestGroups(root, join(root, 'groups'))
  const run = (group = '') => {
    const { NODE_TEST_CONTEXT, ...env } = process.env // else it would report to this run
    return spawnSync(process.execPath, [group], { env, encoding: 'utf8' })
  }
  return { groups, names: groups.map((path) => relative(root, path)), run }
}

const hooks = (name: string) => `import { after, before, beforeEach, test } from 'node:test'
await new Promise((resolve) => setTimeout(resolve, 5))
before(() => console.log('said: ${name} opens'))
beforeEach(() => console.log('said: ${name} begins'))
after(() => console.log('said: ${name} closes'))
test('runs', () => console.log('said: ${name} runs'))
`

test('files of a package share a process, and each has its hooks to itself', async (t) => {
  const { groups, names, run } = await groupsOf(t, {
    'libs/x/src/a.test.ts': hooks('a'),
    'libs/x/src/deep/b.test.ts': hooks('b'),
    'services/y/src/c.test.ts': hooks('c'),
    'services/y/src/d.ts': 'throw new Error("no test")',
  })
  assert.deepEqual(names, ['groups/libs-x-1.ts', 'groups/services-y-1.ts'])
  const { status, stdout } = run(groups[0])
  const said = [...stdout.matchAll(/said: (.*)/g)].map(([, words]) => words)
  assert.deepEqual(
    said,
    ['a', 'b'].flatMap((name) => ['opens', 'begins', 'runs', 'closes'].map((x) => `${name} ${x}`)),
  )
  assert.equal(status, 0, stdout)
})

test('a file that cannot be loaded fails, and the files after it run', async (t) => {
  const { groups, run } = await groupsOf(t, {
    'gateway/src/a.test.ts': 'throw new Error("broken at the top")',
    'gateway/src/b.test.ts': hooks('b'),
  })
  const { status, stdout } = run(groups[0])
  assert.equal(status, 1)
  assert.match(stdout, /broken at the top/)
  assert.match(stdout, /said: b runs/)
})
