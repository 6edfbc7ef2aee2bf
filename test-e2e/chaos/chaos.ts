import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Processes } from '@guildhall/scripts/compose/run'
import { until } from '@guildhall/service/testing'
import { usualAnswerMs } from './answers.ts'
import { type Hands, openHands } from './hands.ts'
import type { Kind } from './kind.ts'
import { kindsOfAgents } from './kinds-of-agents.ts'
import { kindsOfAlertsAndCompute } from './kinds-of-alerts.ts'
import { kindsOfCommands } from './kinds-of-commands.ts'
import { kindsOfOrgs } from './kinds-of-orgs.ts'
import { kindsOfPosts } from './kinds-of-posts.ts'
import { kindsOfStore } from './kinds-of-store.ts'
import { isSteady, type Ledger, type Load, startLoad } from './load.ts'
import { calmMs, type Outage, outageOf, unready } from './outages.ts'
import { atRest, faultsOfTables, readTables, type Tables } from './tables.ts'
import { auditLog, faultsOf } from './verdict.ts'

/** A queued job has run this long after recovery, and everything that was written has arrived. */
const RECOVERY_MS = 60_000
/** Every kind is acknowledged again so soon after an outage. */
const GOES_ON_MS = 60_000
/** The usual time of an answer may become so many times longer, and that much on a busy machine. */
const SLOWER = 3
const SLOWER_BY_MS = 100
const LOOK_MS = 500

export interface Report {
  ledgers: Ledger[]
  outages: Outage[]
  tables: Tables
  /** Longest time that a job waited for and took while nothing was away. */
  slowestJobMs: number
  /** From the end of the last outage until all had arrived and run. */
  restMs: number
  answerMs: { before: number; after: number }
  /** Everything that is wrong, in sentences. */
  faults: string[]
}

export interface Plan {
  /** Who is killed together, one group after another. */
  groups: string[][]
  /** From an answer to the next write, in milliseconds: a load that leaves restarts some of the machine. */
  restMs: number
  /** Hears how far it is. */
  told(line: string): void
}

/** Lets people, agents and jobs write at every service while each group of victims is killed in turn. */
export async function chaos(processes: Processes, { groups, restMs, told }: Plan): Promise<Report> {
  const hands = await openHands(processes)
  const kinds = await kindsFor(hands)
  told('Everybody is signed in')
  const before = await usualAnswerMs(hands)
  const load = startLoad(kinds, restMs)
  await goesOn(load)
  const outages: Outage[] = []
  for (const victims of groups) {
    const outage = await outageOf(processes, victims)
    const { from, until: to } = outage
    outages.push(outage)
    told(`Killed ${victims.join(', ')}; back after ${to.getTime() - from.getTime()} ms`)
    await goesOn(load)
  }
  told('The load ends')
  await load.stop()
  return judged({ processes, hands, ledgers: load.ledgers, outages, before })
}

interface Ended {
  processes: Processes
  hands: Hands
  ledgers: Ledger[]
  outages: Outage[]
  /** The usual time of an answer in milliseconds, before it began. */
  before: number
}

/** Waits until all is at rest, or should be, and looks what is wrong. */
async function judged({ processes, hands, ledgers, outages, before }: Ended): Promise<Report> {
  const tables = await restOf(processes)
  const restMs = Date.now() - (outages.at(-1)?.until.getTime() ?? 0)
  const after = await usualAnswerMs(hands)
  const slowestJobMs = slowestJob(tables, outages)
  const audit = await auditLog(hands)
  const perKind = await Promise.all(ledgers.map((ledger) => faultsOf(ledger, audit)))
  const away = (await unready(processes)).map((name) => `${name} is not ready`)
  const faults = [...perKind.flat(), ...faultsOfTables(tables), ...away]
  if (slowestJobMs > RECOVERY_MS) faults.push(`A job took ${slowestJobMs} ms, outages not counted`)
  if (after > before * SLOWER + SLOWER_BY_MS)
    faults.push(`An answer takes ${after} ms where it took ${before} ms`)
  return { ledgers, outages, tables, slowestJobMs, restMs, answerMs: { before, after }, faults }
}

async function kindsFor(hands: Hands): Promise<Kind[]> {
  const run = randomUUID()
  return [
    ...kindsOfOrgs(hands),
    ...(await kindsOfStore(hands, run)),
    ...kindsOfAgents(hands, run),
    ...(await kindsOfAlertsAndCompute(hands, run)),
    ...(await kindsOfPosts(hands)),
    ...kindsOfCommands(hands),
  ]
}

/** Resolves once every kind that is still written was acknowledged once more. */
async function goesOn({ ledgers }: Load) {
  const counts = ledgers.map(({ answers }) => answers)
  await until(
    () => ledgers.every((one, n) => !isSteady(one) || one.answers > (counts[n] ?? 0)),
    GOES_ON_MS,
  ).catch(() => {
    const silent = ledgers.filter((one, n) => isSteady(one) && one.answers === counts[n])
    for (const { kind, faults } of silent)
      faults.push(`${kind.name}: nothing was acknowledged for ${GOES_ON_MS} ms after an outage`)
  })
}

/** The tables once all has arrived and run, or as they are when the time for it is over. */
async function restOf({ settings }: Processes): Promise<Tables> {
  const url = String(settings.DATABASE_URL)
  const deadline = performance.now() + RECOVERY_MS
  let tables = await readTables(url)
  while (!atRest(tables) && performance.now() < deadline) {
    await wait(LOOK_MS)
    tables = await readTables(url)
  }
  return tables
}

/** Milliseconds from when it was asked for until it had run, of those in no outage. */
function slowestJob({ outbox, runs }: Tables, outages: Outage[]): number {
  const asked = new Map(outbox.map(({ id, created_at }) => [id, created_at]))
  const times = runs.map(({ id, queued_at, finished_at }) =>
    finished_at ? calmMs(asked.get(id) ?? queued_at, finished_at, outages) : 0,
  )
  return Math.round(Math.max(0, ...times))
}
