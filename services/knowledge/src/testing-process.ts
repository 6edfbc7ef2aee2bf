import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import type { knowledgeSettings } from './testing.ts'

/** knowledge as a process of its own, which a test may kill. */
export async function knowledgeProcess(
  t: Pick<TestContext, 'after'>,
  settings: Awaited<ReturnType<typeof knowledgeSettings>>,
  entry: 'main.ts' | 'testing-entry.ts' = 'main.ts',
) {
  const child = spawn(process.execPath, [new URL(entry, import.meta.url).pathname], {
    env: { ...settings, LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  cleanUp(t, async () => child.kill('SIGKILL'))
  for await (const line of createInterface(child.stdout)) {
    const { url } = JSON.parse(line) as { url?: string }
    if (url) return { child, url }
  }
  throw new Error('The process ended before it had started')
}
