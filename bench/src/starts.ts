import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { median, residentMb } from './children.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const LATER_STARTS = 5
/** Memory is read when the start has settled. */
const SETTLE_MS = 3_000

/** `npm start` as a user waits for it: the first in an empty data folder, later ones (median), and its memory. */
export async function measureStarts() {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-bench-'))
  const first = await startOnce(home)
  const later = []
  for (let i = 0; i < LATER_STARTS; i++) later.push(await startOnce(home))
  await rm(home, { recursive: true, force: true })
  return {
    first: first.ms,
    later: median(later.map(({ ms }) => ms)),
    mb: median(later.map(({ mb }) => mb)),
  }
}

async function startOnce(home: string) {
  const began = performance.now()
  const env = { ...process.env, GUILDHALL_HOME: home, PORT: '0', LOG_LEVEL: 'error' }
  const started = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  while (!text.includes('Guildhall runs at')) {
    const [chunk] = (await once(started.stdout, 'data')) as [Buffer]
    text += chunk
  }
  const ms = Math.round(performance.now() - began)
  await wait(SETTLE_MS)
  const { pid } = JSON.parse(await readFile(join(home, 'running.json'), 'utf8')) as { pid: number }
  const mb = residentMb(pid)
  const gone = once(started, 'exit')
  process.kill(pid, 'SIGTERM')
  await gone
  return { ms, mb }
}
