import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** So many files share a process: loading a service takes as long as many of its tests. */
const FILES_PER_PROCESS = 15
/** Tests of whole stacks are long, and each process of them is to have its share. */
const STACKS_PER_PROCESS = 5
const SECONDS_PER_FILE = 240

/**
 * Writes files that hold all tests below `root`, some files of one package each, into `folder`, and answers their
 * paths. Each test file is a suite, so that its hooks are its own.
 */
export function writeTestGroups(root: string, folder: string): string[] {
  const files = globSync(
    ['{libs,services}/*/src/**/*.test.ts', '{bench,gateway,scripts,test-e2e}/**/*.test.ts'],
    { cwd: root, exclude: ['**/node_modules/**'] },
  ).sort()
  const packages = Map.groupBy(files, (file) => /^(libs\/|services\/)?[^/]+/.exec(file)?.[0] ?? '')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  return [...packages].flatMap(([name, all]) => {
    const most = name === 'test-e2e' ? STACKS_PER_PROCESS : FILES_PER_PROCESS
    const groups = Math.ceil(all.length / most)
    return Array.from({ length: groups }, (_, n) => {
      const share = all.filter((_, i) => Math.floor((i * groups) / all.length) === n)
      const path = join(folder, `${name.replace('/', '-')}-${n + 1}.ts`)
      writeFileSync(path, groupOf(share, relative(folder, root)))
      return path
    })
  })
}

/** Loaded one after another, each in the context of its suite: tests belong to the suite in whose context they are declared. */
const groupOf = (files: string[], root: string) => `import { AsyncResource } from 'node:async_hooks'
import { describe } from 'node:test'

let last: Promise<unknown> = Promise.resolve()
for (const file of ${JSON.stringify(files)}) {
  describe(file, { timeout: ${SECONDS_PER_FILE * 1000} }, () => {
    const load = AsyncResource.bind(() => import(\`${root}/\${file}\`))
    last = last.then(load, load)
    return last
  })
}
`
