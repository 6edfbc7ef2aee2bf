import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import type { knowledgeSettings } from './testing.ts'

/** What it said last is part of the error where it does not start. */
const LINES_KEPT = 20

/** knowledge as a process of its own, which a test may kill. */
export async function knowledgeProcess(
  t: Pick<TestContext, 'after'>,
  settings: Awaited<ReturnType<typeof knowledgeSettings>>,
  entry: 'main.ts' | 'testing-entry.ts' = 'main.ts',
) {
  const child = spawn(process.execPath, [new URL(entry, import.meta.url).pathname], {
    env: { ...settings, LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  cleanUp(t, async () => child.kill('SIGKILL'))
  const last: string[] = []
  const keep = (line: string) => {
    last.push(line)
    last.splice(0, last.length - LINES_KEPT)
  }
  createInterface(child.stderr).on('line', keep)
  for await (const line of createInterface(child.stdout)) {
    keep(line)
    const { url } = JSON.parse(line) as { url?: string }
    if (url) return { child, url }
  }
  throw new Error(`The process ended before it had started:\n${last.join('\n')}`)
}
