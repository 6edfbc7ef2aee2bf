import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

/** Starts a file of this folder as a process and answers what it says first. */
export async function child<T>(
  file: string,
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<{ process: ChildProcess; said: T }> {
  const started = fork(new URL(file, import.meta.url), args, { env, execArgv: [] })
  const [said] = (await Promise.race([once(started, 'message'), failed(started, file)])) as [T]
  return { process: started, said }
}

async function failed(started: ChildProcess, file: string): Promise<never> {
  const [code] = await once(started, 'exit')
  throw new Error(`${file} ended with ${code}`)
}

/** Asks a child to end, and waits until it has. */
export async function end(started: ChildProcess) {
  const gone = once(started, 'exit')
  started.send('stop')
  await gone
}

/** Resident memory of a process in megabytes (10^6 bytes). */
export function residentMb(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round((Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6)
}

export const median = (values: number[]) => quantile(values, 0.5)

/** The smallest value that `share` of all are not above. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}
