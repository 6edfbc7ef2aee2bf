import { jobs } from '@guildhall/contracts/calls'
import { subjectOfJob } from '@guildhall/contracts/job'
import type { Service } from '@guildhall/contracts/names'
import type { Query } from '@guildhall/db/refill'

/**
 * After a restore, where no stream is: what the outbox of a service sent since `since` is sent again, and so
 * is every job that has not ended. Who has had a message before takes no second one.
 */
export async function resendAll(query: Query, service: Service, since: Date) {
  await query(
    `update ${service}.outbox set sent_at = null, stream_seq = null where sent_at >= $1`,
    [since],
  )
  const subjects = Object.fromEntries(jobs.map((job) => [job.name, subjectOfJob(job)]))
  await query(
    `insert into ${service}.outbox as kept (id, stream, subject, payload, created_at)
      select id, 'JOBS', $1::jsonb ->> job, jsonb_build_object('id', id, 'args', args), queued_at
      from ${service}.job_runs where state in ('queued', 'running') and $1::jsonb ? job
      on conflict (id) do update set sent_at = null, stream_seq = null`,
    [JSON.stringify(subjects)],
  )
}
