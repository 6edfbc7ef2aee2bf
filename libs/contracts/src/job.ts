import type { z } from 'zod'
import type { ModuleName, Service } from './names.ts'

/** Work that runs apart from the request that asked for it, as plain data. */
export interface Job {
  /** `<service>.<verb_noun>`: the service before the dot runs it. With an `owner`, `<area>.<verb_noun>`. */
  name: `${Service | ModuleName | 'packs'}.${string}`
  /** The service that runs it, where its name begins with another area's. */
  owner?: Service
  summary: string
  args: z.ZodObject
  /** When it runs by itself, in UTC. Arguments must then all have defaults. */
  cron?: string
  /** How often it is tried in all before it becomes a dead letter. */
  attempts: number
  /** How many may run at once in one process. */
  concurrency: number
  /** Runs asked for by a person are written to the audit log. */
  audited: boolean
  /** Why a failed run cannot be run again, for whoever asks for it. */
  once?: string
}

export const job = <const J extends Job>(contract: J): J => contract

export const ownerOfJob = ({ name, owner }: Job) =>
  owner ?? (name.slice(0, name.indexOf('.')) as Service)
/** What it is called in subjects, where its owner comes first: `store.import_event_csv`. */
const ownName = (job: Job) => `${ownerOfJob(job)}.${job.name.slice(job.name.indexOf('.') + 1)}`
/** `jobs.<service>.<job>` */
export const subjectOfJob = (job: Job) => `jobs.${ownName(job)}`
/** Where a job goes when its attempts are used up: `dead.<service>.<job>`. */
export const deadSubjectOfJob = (job: Job) => `dead.${ownName(job)}`
/** `<service>-<job>`: the durable consumer of a job. */
export const durableOfJob = (job: Job) => ownName(job).replace('.', '-')
