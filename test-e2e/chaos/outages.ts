import type { Processes } from '@guildhall/scripts/compose/run'
import { until } from '@guildhall/service/testing'

/** Everything that can be killed: the servers, and each process of docker-compose.yml. */
export const SERVERS = ['postgres', 'nats'] as const
const BACK_WITHIN_MS = 120_000
const PROBE_MS = 2_000

/** Who was killed, and from when until when something was not ready. */
export interface Outage {
  victims: string[]
  from: Date
  until: Date
}

/** Kills them with `kill -9` at one moment, and waits until every process is ready again, by itself. */
export async function outageOf(processes: Processes, victims: string[]): Promise<Outage> {
  const pidsNow = () => ({ ...processes.pids(), ...processes.children() })
  const killed = pidsNow()
  const from = new Date()
  for (const victim of victims) {
    const pid = killed[victim as keyof typeof killed]
    if (pid === undefined) throw new Error(`${victim} does not run`)
    process.kill(pid, 'SIGKILL')
  }
  const isAnother = (victim: string) => {
    const pid = pidsNow()[victim as keyof typeof killed]
    return pid !== undefined && pid !== killed[victim as keyof typeof killed]
  }
  await until(() => victims.every(isAnother), BACK_WITHIN_MS)
  await until(async () => (await unready(processes)).length === 0, BACK_WITHIN_MS)
  return { victims, from, until: new Date() }
}

/** The processes that do not say that they are ready. */
export async function unready({ url, settings, pids }: Processes): Promise<string[]> {
  const asked = Object.keys(pids()).map(async (name) => {
    const base = name === 'gateway' ? url : String(settings[`${name.toUpperCase()}_URL`])
    return (await isReady(base)) ? [] : [name]
  })
  return (await Promise.all(asked)).flat()
}

async function isReady(base: string): Promise<boolean> {
  try {
    const answer = await fetch(`${base}/ready`, { signal: AbortSignal.timeout(PROBE_MS) })
    await answer.text()
    return answer.ok
  } catch {
    return false
  }
}

/** Milliseconds from one moment to another that lie in no outage. */
export function calmMs(from: Date, to: Date, outages: Outage[]): number {
  const within = outages.map((outage) => {
    const begin = Math.max(from.getTime(), outage.from.getTime())
    return Math.max(0, Math.min(to.getTime(), outage.until.getTime()) - begin)
  })
  return to.getTime() - from.getTime() - within.reduce((sum, ms) => sum + ms, 0)
}
