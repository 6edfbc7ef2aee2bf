import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import type { Identity } from '@guildhall/service/caller-token'
import { cleanUp, clientAs } from '@guildhall/service/testing'
import type { TestStore } from './testing.ts'

const MAIN = new URL('main.ts', import.meta.url).pathname

/** The store as a process of its own, on the database and the broker of a test: one that can be killed. */
export async function storeProcess(
  t: Pick<TestContext, 'after'>,
  { settings }: Pick<TestStore, 'settings'>,
) {
  const env = { ...settings, LOG_LEVEL: 'info' }
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  async function kill() {
    child.kill('SIGKILL')
    await exited
  }
  cleanUp(t, kill)
  const url = await addressIn(createInterface({ input: child.stdout }))
  child.stdout.resume()
  return {
    as: (identity: Partial<Identity>, headers: Record<string, string> = {}) =>
      clientAs(url, settings.INTERNAL_KEY, identity, headers),
    kill,
  }
}

/** What the process logs once it listens. */
async function addressIn(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const { msg, url } = JSON.parse(line) as { msg: string; url?: string }
    if (msg === 'Started' && url) return url
  }
  throw new Error('The store ended before it listened')
}
