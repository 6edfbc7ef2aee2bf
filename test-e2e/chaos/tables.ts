import { jobs } from '@guildhall/contracts/calls'
import { subjectOfJob } from '@guildhall/contracts/job'
import { services } from '@guildhall/contracts/names'
import { withClient } from '@guildhall/db/shapes'

/** What no route shows: that what was to be sent arrived once. Other journeys read no tables. */
export const readTables = (databaseUrl: string) =>
  withClient(databaseUrl, async (client) => {
    await client.query('begin isolation level repeatable read')
    const rows = async <T extends object>(sql: string) => (await client.query<T>(sql)).rows
    const all = (select: (service: string) => string) =>
      services.map((service) => `(${select(service)})`).join(' union all ')
    const outbox = await rows<OutboxRow>(
      all(
        (one) =>
          `select '${one}' as service, id, stream, subject, created_at, sent_at from ${one}.outbox`,
      ),
    )
    const runs = await rows<RunRow>(
      all((one) => `select id, job, state, attempts, queued_at, finished_at from ${one}.job_runs`),
    )
    const audit = await rows<{ id: string }>('select id from ops.audit_entries')
    const ticks = await rows<TickRow>('select job, due_at from ops.ticks')
    return { outbox, runs, audit, ticks }
  })

export type Tables = Awaited<ReturnType<typeof readTables>>
interface OutboxRow {
  service: string
  id: string
  stream: string
  subject: string
  created_at: Date
  sent_at: Date | null
}
interface RunRow {
  id: string
  job: string
  state: string
  attempts: number
  queued_at: Date
  finished_at: Date | null
}
interface TickRow {
  job: string
  due_at: Date
}

/** Everything was sent, every run has ended, and every line of the audit log that was written is stored. */
export function atRest({ outbox, runs, audit }: Tables): boolean {
  const stored = new Set(audit.map(({ id }) => id))
  const ended = new Set(runs.filter(({ finished_at }) => finished_at).map(({ id }) => id))
  return (
    runs.length === ended.size &&
    outbox.every(
      ({ sent_at, stream, id }) =>
        sent_at !== null &&
        (stream !== 'AUDIT' || stored.has(id)) &&
        (stream !== 'JOBS' || ended.has(id)),
    )
  )
}

/** What is wrong with them, in sentences. */
export function faultsOfTables({ outbox, runs, audit, ticks }: Tables): string[] {
  const stored = new Set(audit.map(({ id }) => id))
  const written = new Set(outbox.filter(({ stream }) => stream === 'AUDIT').map(({ id }) => id))
  const ran = new Map(runs.map((run) => [run.id, run]))
  const asked = outbox.filter(({ stream }) => stream === 'JOBS')
  return [
    ...outbox
      .filter(({ sent_at }) => sent_at === null)
      .map(({ service, subject }) => `${service} has not sent its ${subject}`),
    ...[...written].filter((id) => !stored.has(id)).map((id) => `audit line ${id} is lost`),
    ...[...stored].filter((id) => !written.has(id)).map((id) => `nobody wrote audit line ${id}`),
    ...asked.filter(({ id }) => !ran.has(id)).map(({ subject }) => `${subject} never ran`),
    ...runs
      .filter(({ finished_at }) => !finished_at)
      .map(({ job, id, state }) => `${job} ${id} is still ${state}`),
    ...faultsOfTicks(ticks, asked),
  ]
}

/** Each tick asks for one run, and nothing but a tick makes ops ask. */
function faultsOfTicks(ticks: TickRow[], asked: OutboxRow[]): string[] {
  const byOps = asked.filter(({ service }) => service === 'ops').map(({ subject }) => subject)
  return jobs.flatMap((job) => {
    const due = ticks.filter((tick) => tick.job === job.name).length
    const times = new Set(
      ticks.filter((tick) => tick.job === job.name).map(({ due_at }) => due_at.getTime()),
    )
    const runs = byOps.filter((subject) => subject === subjectOfJob(job)).length
    const fine = due === runs && due === times.size
    return fine
      ? []
      : [`${job.name} was due ${times.size} times, ticked ${due} times and ran ${runs} times`]
  })
}
