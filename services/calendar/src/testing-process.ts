import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import type { Env } from '@guildhall/service/config'
import { cleanUp } from '@guildhall/service/testing'

const MAIN = new URL('main.ts', import.meta.url).pathname

/** calendar as a process of its own, on the database and the broker of a test: one that can be killed. */
export async function calendarProcess(t: Pick<TestContext, 'after'>, settings: Env) {
  const env = { ...settings, LOG_LEVEL: 'info' }
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  async function kill() {
    child.kill('SIGKILL')
    await exited
  }
  cleanUp(t, kill)
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, url } = JSON.parse(line) as { msg: string; url?: string }
    if (msg !== 'Started' || !url) continue
    child.stdout.resume()
    return { url, kill }
  }
  throw new Error('calendar ended before it listened')
}
