// Plain JavaScript for the Node that the machine happens to have (18 or newer): installs what is
// missing, then runs the entry on the workspace's own Node. `node scripts/bootstrap.mjs <entry.ts> …`
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const PNPM = 'pnpm@12.21.0'
const LOCK_BEAT_MS = 1_000
/** Older than this the lock's holder is dead, whatever its process id says. */
const LOCK_STALE_MS = 15_000
const LOCK_POLL_MS = 200
/** npm passes a terminal's Ctrl-C on a second time; a person's second one comes later than this. */
const SAME_SIGNAL_MS = 500
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']
const SUPPORTED = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = join(root, 'node_modules', '.bin')
const node = join(bin, 'node')
const stamp = join(root, 'node_modules', '.installed')
const pnpmState = join(root, 'node_modules', '.pnpm-workspace-state-v1.json')
const compileCache = join(root, '.guildhall', 'cache', 'compile')
const lock = join(root, '.guildhall', 'installing')

const read = (path) => {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Says what everything that decides the contents of node_modules was. */
function fingerprint() {
  const folders = (path) =>
    fs
      .readdirSync(join(root, path), { withFileTypes: true })
      .filter((e) => e.isDirectory() && e.name !== 'node_modules' && !e.name.startsWith('.'))
      .map((e) => join(path, e.name))
  const top = folders('.')
  const packages = ['.', ...top, ...top.flatMap(folders)].sort()
  const files = [
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    ...packages.map((folder) => join(folder, 'package.json')),
  ]
  const hash = createHash('sha256')
  for (const file of files) {
    const text = read(join(root, file))
    if (text) hash.update(`${file}\0${text}\0`)
  }
  return hash.digest('hex')
}

function fail(message) {
  console.error(message)
  process.exit(1)
}

function checkPlatform() {
  const platform = `${process.platform}-${process.arch}`
  const isMusl =
    process.platform === 'linux' && !process.report?.getReport().header.glibcVersionRuntime
  if (SUPPORTED.includes(platform) && !isMusl) return
  fail(`Guildhall brings its own Node for Linux (x64, arm64, glibc) and macOS (x64, arm64), not for \
${platform}${isMusl ? ' with musl' : ''}.
On Windows run it inside WSL, on musl in a container of Debian.`)
}

/** npm's settings for its own run must not reach pnpm, save those that say how to get packages. */
function installEnvironment() {
  const wanted = /registry|_auth|ca$|cafile|cache|store|proxy|strict_ssl|userconfig/i
  const env = Object.entries(process.env).filter(
    ([name]) => !/^npm_/i.test(name) || wanted.test(name),
  )
  // pnpm may replace our Node, so it runs on the machine's; CI: it never waits for an answer
  const PATH = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((path) => !path.includes('node_modules'))
  return { ...Object.fromEntries(env), PATH: PATH.join(delimiter), CI: 'true' }
}

async function install(wanted) {
  console.error('Installing (first start only)…')
  // by the second file pnpm would find itself up to date without looking, for instance for a lost Node
  for (const file of [stamp, pnpmState]) fs.rmSync(file, { force: true })
  let child
  // With all that it started: an installation that outlives us would meet the next one. Heard before it starts,
  // so that no signal comes between.
  const abandon = () => {
    try {
      process.kill(-child.pid, 'SIGTERM') // a shell's background jobs are deaf to SIGINT
    } catch {
      // it ended in the meantime
    }
  }
  for (const signal of SIGNALS) process.on(signal, abandon)
  child = spawn('npx', ['--yes', PNPM, 'install', '--frozen-lockfile'], {
    cwd: root,
    env: installEnvironment(),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const code = await new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('close', (status, signal) => resolve(status ?? signal))
  })
  for (const signal of SIGNALS) process.off(signal, abandon)
  if (code !== 0) throw new Error(`${output}\nInstalling with ${PNPM} failed (${code}).`)
  checkNode()
  fs.writeFileSync(stamp, wanted)
}

function checkNode() {
  if (!fs.existsSync(node)) throw new Error(`The installation brought no Node (${node}).`)
  const run = spawnSync(node, ['--version'], { encoding: 'utf8' })
  if (run.status === 0) return
  fs.rmSync(node) // else npm would run even this script on it
  if (!run.stderr?.includes('libatomic.so.1'))
    throw new Error(`${node} does not run: ${run.stderr}`)
  throw new Error('Node 26 needs a system library that is missing here: apt-get install libatomic1')
}

function lockIsStale(holder, touchedAt) {
  if (Date.now() - touchedAt > LOCK_STALE_MS) return true
  try {
    if (holder) process.kill(Number(holder), 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

/** Moves the lock aside, and back if it had changed hands between the look and the move. */
function breakLock(holder) {
  const aside = `${lock}.${process.pid}`
  try {
    fs.renameSync(lock, aside)
    if (read(join(aside, 'pid')) !== holder) fs.renameSync(aside, lock)
  } catch {
    // another start was faster
  }
  fs.rmSync(aside, { recursive: true, force: true })
}

function takeLock() {
  try {
    fs.mkdirSync(lock)
    fs.writeFileSync(join(lock, 'pid'), `${process.pid}`)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  const holder = read(join(lock, 'pid'))
  const touchedAt = fs.statSync(lock, { throwIfNoEntry: false })?.mtimeMs
  if (touchedAt !== undefined && lockIsStale(holder, touchedAt)) breakLock(holder)
  return false
}

/** Of several starts at once one installs, the others wait for it. */
async function installOnce(wanted) {
  const isInstalled = () => read(stamp) === wanted && fs.existsSync(node)
  if (isInstalled()) return
  checkPlatform()
  fs.mkdirSync(join(root, '.guildhall'), { recursive: true })
  while (!takeLock()) await sleep(LOCK_POLL_MS)
  const isOurs = () => read(join(lock, 'pid')) === `${process.pid}`
  const touch = () => isOurs() && fs.utimesSync(lock, new Date(), new Date())
  const beat = setInterval(touch, LOCK_BEAT_MS)
  try {
    if (!isInstalled()) await install(wanted)
  } finally {
    clearInterval(beat)
    if (isOurs()) fs.rmSync(lock, { recursive: true, force: true })
  }
}

/** The arguments in front of a command that make Linux end it in order when we are killed. */
function endWithUs() {
  const guard = ['setpriv', '--pdeathsig', 'TERM']
  const works =
    process.platform === 'linux' && spawnSync('setpriv', [...guard.slice(1), 'true']).status === 0
  return works ? guard : []
}

/**
 * The child leads its own process group: a terminal's Ctrl-C, which npm repeats, reaches it through us
 * and once. A second one half a second later is passed on too.
 */
function run(args) {
  const [command, ...rest] = [...endWithUs(), node, ...args]
  const child = spawn(command, rest, {
    stdio: 'inherit',
    detached: true,
    env: {
      NODE_COMPILE_CACHE: compileCache, // 350 ms to load a service become 190 ms
      MALLOC_ARENA_MAX: '2', // glibc's default, eight a core, costs 80 MB under uploads
      LANCEDB_LOG: 'error', // it warns of each part of a vector index that is empty
      ...process.env,
      // V8's own choice, 16 MB and more a thread, costs 40 MB a start and 70 MB under uploads, for 2 % of speed
      NODE_OPTIONS: `--max-semi-space-size=8 ${process.env.NODE_OPTIONS ?? ''}`,
      PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
    },
  })
  const sent = {}
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (performance.now() - (sent[signal] ?? Number.NEGATIVE_INFINITY) < SAME_SIGNAL_MS) return
      sent[signal] = performance.now()
      child.kill(signal)
    })
  }
  child.on('error', (error) => fail(`${node} could not be started: ${error.message}`))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

if (process.argv.length < 3) fail('Usage: node scripts/bootstrap.mjs <entry.ts> [arguments…]')
await installOnce(fingerprint()).catch((error) => fail(error.message))
run(process.argv.slice(2))
