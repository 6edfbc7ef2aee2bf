import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { writeTestGroups } from './test-groups.ts'

/**
 * `npm test`: every check, then every test. `npm test -- <files>` runs only those files;
 * `npm test -- --fix` formats, applies safe fixes and ends.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const GROUPS = fileURLToPath(new URL('../../.guildhall/cache/tests', import.meta.url))
const SETUP = 'scripts/src/test-setup.ts'
const SECONDS_PER_PROCESS = 600

const files = process.argv.slice(2)
const checks = [
  ['types', 'tsc', '--noEmit', '-p', '.'],
  ['format, lint, boundaries', 'biome', 'ci', '--error-on-warnings', '.'],
]
const tests = [
  'tests',
  process.execPath,
  '--test',
  `--test-global-setup=${SETUP}`,
  `--test-timeout=${SECONDS_PER_PROCESS * 1000}`,
  '--test-concurrency=3', // many wait for a clock or a process, so two would leave the cores of a small machine idle
  '--test-force-exit',
  ...(files.length > 0 ? files : writeTestGroups(root, GROUPS)),
]
const fix = ['format and fix', 'biome', 'check', '--write', '.']
const whole = files.length > 0 ? [tests] : [...checks, tests]
const steps = files.includes('--fix') ? [fix] : whole

for (const [name, command = '', ...args] of steps) {
  process.stdout.write(`— ${name}\n`)
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (error) process.stderr.write(`${command}: ${error.message}\n`)
  if (status !== 0) process.exit(status ?? 1)
}
