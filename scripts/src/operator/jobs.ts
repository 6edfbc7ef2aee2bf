import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { jobs } from '@guildhall/contracts/calls'
import { type Job, ownerOfJob } from '@guildhall/contracts/job'
import { findJobRun, type JobRun, startJob } from '@guildhall/contracts/ops'
import { type Env, SettingsError } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { type Said, table, UsageError, withBus } from './context.ts'

const POLL_MS = 200
/** A service that is silent for longer is not just starting again. */
const AWAY_MS = 60_000

export async function jobsList(): Promise<Said> {
  const rows = jobs.map(({ name, cron, summary }) => ({
    job: name,
    when: cron ?? 'on request',
    summary,
  }))
  return { text: table(rows), json: rows }
}

/** Starts a job at the service that owns it and waits for its end. Throws if it fails. */
export async function jobsRun(env: Env, name: string | undefined, given: string[]): Promise<Said> {
  const job = jobs.find((one) => one.name === name)
  if (!job) throw new UsageError(`There is no job ${name ?? ''}; see jobs list`)
  const args = await argumentsFrom(job, given)
  const run = await withBus(env, (bus) => runToEnd(bus, job, args))
  const result = run.result === null ? '' : `\n${JSON.stringify(run.result, null, 2)}`
  return { text: `${run.job} done (run ${run.id})${result}`, json: run }
}

/** Starts a job and waits for its end; `meanwhile` is called between looks. Throws if it fails. */
export async function runToEnd(
  bus: Bus,
  job: Job,
  args: Record<string, string>,
  meanwhile = async () => {},
): Promise<JobRun> {
  const [id, service] = [newId(), ownerOfJob(job)]
  await ask(bus, startJob(service), { id, job: job.name, args })
  let heardAt = performance.now()
  /** The run, or nothing while its service is away: it may be starting again, and takes the run up then. */
  async function find() {
    try {
      const { run } = await ask(bus, findJobRun(service), { id })
      heardAt = performance.now()
      return run
    } catch (error) {
      const away = error instanceof AppError && error.kind === 'unavailable'
      if (!away || performance.now() - heardAt > AWAY_MS) throw error
      return null
    }
  }
  for (;;) {
    const run = await find()
    if (run?.state === 'failed') throw new SettingsError(`${run.job} failed: ${run.error}`)
    if (run?.finished_at) return run
    await meanwhile()
    await wait(POLL_MS)
  }
}

/** `name=value`, or `name=@file` for the contents of a file. */
async function argumentsFrom(job: Job, given: string[]) {
  const known = Object.keys(job.args.shape)
  const taken = known.length > 0 ? `it takes ${known.join(', ')}` : 'it takes none'
  const pairs = given.map(async (text) => {
    const at = text.indexOf('=')
    if (at < 1) throw new UsageError(`-a takes name=value or name=@file, not ${text}`)
    const [name, value] = [text.slice(0, at), text.slice(at + 1)]
    if (!known.includes(name)) throw new UsageError(`${job.name} has no argument ${name}; ${taken}`)
    return [name, value.startsWith('@') ? await contentsOf(value.slice(1)) : value]
  })
  return Object.fromEntries(await Promise.all(pairs)) as Record<string, string>
}

const contentsOf = (file: string) =>
  readFile(file, 'utf8').catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`)
  })
