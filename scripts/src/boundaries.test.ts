import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cp, glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A bad snippet for each boundary rule: the rule must report it, whatever happens to the configuration. */
const BAD: Record<string, { file: string; text: string }> = {
  'correctness/noUndeclaredDependencies': {
    file: 'services/ops/src/sideways.ts',
    text: "import { start } from '@guildhall/auth/main'\n\nexport const other = start\n",
  },
  'style/noRestrictedImports': {
    file: 'services/ops/src/audit/climbs.ts',
    text: "import { buildApp } from '../../../auth/src/app.ts'\n\nexport const app = buildApp\n",
  },
  'performance/noReExportAll': { file: 'libs/db/src/all.ts', text: "export * from './open.ts'\n" },
  'performance/noBarrelFile': {
    file: 'libs/db/src/index.ts',
    text: "export { openDb } from './open.ts'\n",
  },
  'style/noDefaultExport': { file: 'libs/db/src/default.ts', text: 'export default 1\n' },
  'style/noEnum': { file: 'libs/db/src/enum.ts', text: 'export enum Colour {\n  Red = 1,\n}\n' },
  'suspicious/noConsole': { file: 'services/ops/src/prints.ts', text: 'console.log(1)\n' },
  'style/noProcessEnv': {
    file: 'services/ops/src/audit/reads.ts',
    text: 'export const x = process.env.X\n',
  },
  'nursery/noFloatingPromises': {
    file: 'services/ops/src/floats.ts',
    text: 'async function work() {}\n\nexport function start() {\n  work()\n}\n',
  },
  'style/noExcessiveLinesPerFile': {
    file: 'services/ops/src/long.ts',
    text: 'export const list = [\n  1,\n]\n'.replace('  1,\n', '  1,\n'.repeat(300)),
  },
  'complexity/noExcessiveCognitiveComplexity': {
    file: 'services/ops/src/complex.ts',
    text: `export function f(a: number) {\n${'  if (a) {\n    if (a > 1) return 1\n  }\n'.repeat(5)}  return 0\n}\n`,
  },
}

test('each boundary rule still reports a bad snippet', async (t) => {
  const copy = await mkdtemp(join(tmpdir(), 'guildhall-boundaries-'))
  t.after(() => rm(copy, { recursive: true, force: true }))
  await cp(join(root, 'biome.json'), join(copy, 'biome.json'))
  for await (const file of glob('{libs,services}/*/package.json', { cwd: root })) {
    await cp(join(root, file), join(copy, file))
  }
  for (const { file, text } of Object.values(BAD)) {
    await mkdir(dirname(join(copy, file)), { recursive: true })
    await writeFile(join(copy, file), text)
  }
  const args = ['lint', '--vcs-enabled=false', '--reporter=github', '--max-diagnostics=none', '.']
  const { stdout, stderr } = spawnSync(join(root, 'node_modules/.bin/biome'), args, {
    cwd: copy,
    encoding: 'utf8',
  })
  const reported = stdout
    .split('\n')
    .map((line) => /title=lint\/([\w/]+),file=([^,]+)/.exec(line)?.slice(1))
  for (const [rule, { file }] of Object.entries(BAD)) {
    const found = reported.some((one) => one?.[0] === rule && one[1]?.endsWith(file))
    assert.ok(found, `${rule} does not report ${file}\n${stdout}${stderr}`)
  }
})

test('services depend on libs alone, libs never on a service, and contracts on zod alone', async () => {
  const services = new Set<string>()
  const packages: { path: string; dependencies: string[] }[] = []
  for await (const path of glob('{libs/*,services/*,gateway}/package.json', { cwd: root })) {
    const { name, dependencies = {} } = JSON.parse(await readFile(join(root, path), 'utf8'))
    if (!path.startsWith('libs/')) services.add(name)
    packages.push({ path, dependencies: Object.keys(dependencies) })
  }
  assert.ok(packages.length >= 10)
  for (const { path, dependencies } of packages) {
    assert.deepEqual([path, dependencies.filter((name) => services.has(name))], [path, []])
  }
  const contracts = packages.find(({ path }) => path === 'libs/contracts/package.json')
  assert.deepEqual(contracts?.dependencies, ['zod'])
})
