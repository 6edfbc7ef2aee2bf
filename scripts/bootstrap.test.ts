import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

const DEADLINE_MS = 10_000
const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin'

/** Stands for npx: notes each call, then "installs" the Node that runs this test. */
const NPX = `#!/bin/sh
echo "$@" >> npx-calls
env >> npx-env
mkdir -p node_modules/.bin
ln -sf ${process.execPath} node_modules/.bin/node
`

/** A workspace with the real bootstrap and an npx that needs no network. */
async function workspace(t: TestContext, npx = NPX) {
  const dir = await mkdtemp(join(tmpdir(), 'bootstrap-'))
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  for (const path of ['scripts', 'path', 'libs/a'])
    await mkdir(join(dir, path), { recursive: true })
  await copyFile(join(import.meta.dirname, 'bootstrap.mjs'), join(dir, 'scripts/bootstrap.mjs'))
  await symlink(process.execPath, join(dir, 'path/node'))
  await writeFile(join(dir, 'path/npx'), npx, { mode: 0o755 })
  for (const path of ['package.json', 'libs/a/package.json']) await writeFile(join(dir, path), '{}')
  await writeFile(join(dir, 'pnpm-lock.yaml'), 'lock')
  return dir
}

function start(dir: string, entry: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['scripts/bootstrap.mjs', '-e', entry], {
    cwd: dir,
    env: { PATH: `${join(dir, 'path')}:${SYSTEM_PATH}`, ...env },
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  const done = once(child, 'close').then(([code]) => ({ code, ...output }))
  return { child, output, done }
}

async function until(what: string, condition: () => unknown): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `in time: ${what}`)
    await sleep(10)
  }
}

const calls = async (dir: string) =>
  (await readFile(join(dir, 'npx-calls'), 'utf8').catch(() => '')).split('\n').length - 1

test('the first start installs, the next ones do not, until a package.json changes', async (t) => {
  const dir = await workspace(t)
  const first = await start(dir, 'console.log("hello")').done
  assert.deepEqual(first, {
    code: 0,
    stdout: 'hello\n',
    stderr: 'Installing (first start only)…\n',
  })
  assert.deepEqual(await start(dir, '').done, { code: 0, stdout: '', stderr: '' })
  assert.equal(await calls(dir), 1)
  await writeFile(join(dir, 'libs/a/package.json'), '{"name":"a"}')
  await start(dir, '').done
  assert.equal(await calls(dir), 2)
})

test('of four starts at once one installs', async (t) => {
  const dir = await workspace(t)
  const all = await Promise.all([1, 2, 3, 4].map(() => start(dir, '').done))
  assert.deepEqual(
    all.map(({ code }) => code),
    [0, 0, 0, 0],
  )
  assert.equal(await calls(dir), 1)
  assert.ok(!existsSync(join(dir, '.guildhall/installing')))
})

for (const [what, holder, age] of [
  ['of a dead process', '4194304', 0],
  ['that nobody has touched for long', `${process.pid}`, 60],
] as const) {
  test(`a lock ${what} is broken`, async (t) => {
    const dir = await workspace(t)
    const lock = join(dir, '.guildhall/installing')
    await mkdir(lock, { recursive: true })
    await writeFile(join(lock, 'pid'), holder)
    const touched = new Date(Date.now() - age * 1000)
    await utimes(lock, touched, touched)
    assert.equal((await start(dir, '').done).code, 0)
    assert.ok(!existsSync(lock))
  })
}

test('an installation that fails shows its output and is tried again next time', async (t) => {
  const dir = await workspace(t, '#!/bin/sh\necho no network; exit 7\n')
  const { code, stderr } = await start(dir, '').done
  assert.equal(code, 1)
  assert.match(stderr, /no network\n\nInstalling with pnpm@\S+ failed \(7\)\./)
  await writeFile(join(dir, 'path/npx'), NPX)
  assert.equal((await start(dir, '').done).code, 0)
})

test('an installation that is interrupted ends with all that it started, and frees the lock', async (t) => {
  const dir = await workspace(t, '#!/bin/sh\nsleep 60 & echo $! > sleeper; wait\n')
  const { child, done } = start(dir, '')
  await until('it installs', () => existsSync(join(dir, 'sleeper')))
  child.kill('SIGINT')
  assert.equal((await done).code, 1)
  const sleeper = Number(await readFile(join(dir, 'sleeper'), 'utf8'))
  await until('what it started is gone', async () => {
    const stat = await readFile(`/proc/${sleeper}/stat`, 'utf8').catch(() => '')
    return stat === '' || stat.includes(') Z ')
  })
  assert.ok(!existsSync(join(dir, '.guildhall/installing')))
})

test('a Node that lacks libatomic is explained and taken off the path', async (t) => {
  const broken = `#!/bin/sh
mkdir -p node_modules/.bin
printf '#!/bin/sh\\necho "error while loading shared libraries: libatomic.so.1" >&2; exit 127\\n' > node_modules/.bin/node
chmod +x node_modules/.bin/node
`
  const dir = await workspace(t, broken)
  const { code, stderr } = await start(dir, '').done
  assert.equal(code, 1)
  assert.match(stderr, /apt-get install libatomic1/)
  assert.ok(!existsSync(join(dir, 'node_modules/.bin/node')))
})

test("npm's own settings do not reach pnpm, those for the registry do", async (t) => {
  const dir = await workspace(t)
  const env = {
    npm_config_nodedir: '/a',
    npm_lifecycle_event: 'start',
    npm_config_registry: 'http://r',
    npm_config_cafile: '/c',
    npm_config_https_proxy: 'http://p',
    pnpm_config_store_dir: '/s',
  }
  await start(dir, '', env).done
  const seen = await readFile(join(dir, 'npx-env'), 'utf8')
  const names = seen.match(/^p?npm_\w+/gm)?.sort()
  assert.deepEqual(names, [
    'npm_config_cafile',
    'npm_config_https_proxy',
    'npm_config_registry',
    'pnpm_config_store_dir',
  ])
})

test('it ends with the code of the entry, and with 128 and the signal that ended it', async (t) => {
  const dir = await workspace(t)
  assert.equal((await start(dir, 'process.exit(3)').done).code, 3)
  assert.equal((await start(dir, 'process.kill(process.pid, "SIGKILL")').done).code, 137)
})

test('the entry runs on the workspace Node, which is first on its PATH', async (t) => {
  const dir = await workspace(t)
  const entry = 'console.log(process.env.PATH.split(":")[0])'
  assert.equal((await start(dir, entry).done).stdout, `${join(dir, 'node_modules/.bin')}\n`)
})

/** Counts the signals that arrive, says so, and ends on SIGTERM. */
const COUNTING = `
  let n = 0
  process.on('SIGINT', () => console.log('int ' + ++n))
  process.on('SIGTERM', () => process.exit(0))
  setInterval(() => {}, 1000)
  console.log('up')`

test("a terminal's Ctrl-C that npm repeats reaches the entry once", async (t) => {
  const dir = await workspace(t)
  const { child, output, done } = start(dir, COUNTING)
  await until('up', () => output.stdout.includes('up'))
  child.kill('SIGINT')
  child.kill('SIGINT')
  await until('it arrives', () => output.stdout.includes('int 1'))
  child.kill('SIGINT')
  child.kill('SIGTERM')
  assert.deepEqual(await done, { ...output, code: 0, stdout: 'up\nint 1\n' })
})

test('a bootstrap that is killed takes the entry with it', async (t) => {
  const dir = await workspace(t)
  const { child, output, done } = start(dir, COUNTING)
  await until('up', () => output.stdout.includes('up'))
  child.kill('SIGKILL')
  await done // its output closes when the entry is gone too
})
