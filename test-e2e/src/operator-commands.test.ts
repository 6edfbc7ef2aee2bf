import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { TEST_INTERNAL_KEY, testEnvironment } from '@guildhall/bus/testing'
import { commands } from '@guildhall/scripts/operator/commands'
import { newHome } from './launched.ts'
import { operatorAt } from './run-operator.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Servers that are not there, so that what needs one ends with a fault. */
const AWAY = { DATABASE_URL: 'postgres://owner@127.0.0.1:1/none', NATS_URL: 'nats://127.0.0.1:1' }

/** What makes each command a right call, and how it ends while no server answers. */
const CALLS: Record<string, { args?: string[]; code: number }> = {
  'config check': { code: 1 },
  'org list': { code: 1 },
  'org create': { args: ['--name', 'X', '--prefix', 'chess', '--guild-id', '12345'], code: 1 },
  'org modules': { args: ['demo', '--on', 'points'], code: 1 },
  'org purge': { args: ['demo', '--yes'], code: 1 },
  'jobs list': { code: 0 },
  'jobs run': { args: ['auth.prune'], code: 1 },
  backup: { args: ['new.tar.gz'], code: 1 },
  restore: { args: ['damaged.tar.gz'], code: 1 },
  'search rebuild': { code: 1 },
  'nats users': { code: 0 },
  'migrate up': { code: 1 },
  'migrate down': { args: ['auth', '--yes'], code: 1 },
}

test('each command explains itself, answers in JSON, and tells a fault by 1 and a wrong call by 2', async (t) => {
  const home = await newHome(t)
  await writeFile(join(home, 'damaged.tar.gz'), 'no archive')
  const settings = { ...(await testEnvironment()), ...AWAY, INTERNAL_KEY: TEST_INTERNAL_KEY }
  const operator = operatorAt({ home, settings })
  const inHome = (arg: string) => (arg.endsWith('.gz') ? join(home, arg) : arg)
  assert.deepEqual(commands.map(({ words }) => words).sort(), Object.keys(CALLS).sort())
  const ended = await Promise.all(
    commands.map(({ words }) =>
      operator(...words.split(' '), ...(CALLS[words]?.args ?? []).map(inHome), '--json'),
    ),
  )
  for (const [n, { words, summary }] of commands.entries()) {
    const { code } = CALLS[words] ?? assert.fail(words)
    const called = ended[n] ?? assert.fail(words)
    const [help, wrong] = await Promise.all([
      operator(...words.split(' '), '--help'),
      operator(...words.split(' '), '--nothing', '--json'),
    ])
    assert.deepEqual([help.code, help.err], [0, ''], words)
    assert.ok(help.out.includes(`  ${words}`) && help.out.includes(summary), words)
    assert.equal(wrong.code, 2, words)
    assert.equal(JSON.parse(wrong.err).code, 'command.misused', words)
    assert.equal(called.code, code, `${words}: ${called.out}${called.err}`)
    const said = JSON.parse(called.err || called.out)
    if (called.err) assert.deepEqual(Object.keys(said).sort(), ['code', 'error'], words)
  }
})

test('the process prints what was said and ends with its code', async () => {
  const ended = (...args: string[]) =>
    new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
      execFile(
        process.execPath,
        ['scripts/src/operator.ts', ...args],
        { cwd: root },
        (error, out, err) => resolve({ code: error?.code ?? 0, out, err }),
      )
    })
  const [help, wrong] = await Promise.all([ended('--help'), ended('nothing', '--json')])
  assert.deepEqual([help.code, help.err], [0, ''])
  assert.match(help.out, /^Usage: npm run operator/)
  assert.deepEqual([wrong.code, wrong.out], [2, ''])
  assert.equal(JSON.parse(wrong.err).code, 'command.misused')
})
