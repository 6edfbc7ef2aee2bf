import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import type { TestAlerts } from './testing.ts'

const MAIN = new URL('main.ts', import.meta.url).pathname

/** alerts as a process of its own, on the database and the broker of a test: one that can be killed. `output` is all it logs. */
export async function alertsProcess(
  t: Pick<TestContext, 'after'>,
  { settings }: Pick<TestAlerts, 'settings'>,
) {
  const env = { ...settings, LOG_LEVEL: 'debug' }
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  const output: string[] = []
  async function kill() {
    child.kill('SIGKILL')
    await exited
  }
  cleanUp(t, kill)
  child.stderr.on('data', (part) => output.push(String(part)))
  const started = Promise.withResolvers<void>()
  exited.then(() => started.reject(new Error(`alerts ended: ${output.join('')}`)))
  createInterface({ input: child.stdout }).on('line', (line) => {
    output.push(line)
    if ((JSON.parse(line) as { msg: string }).msg === 'Started') started.resolve()
  })
  await started.promise
  return { kill, output }
}
