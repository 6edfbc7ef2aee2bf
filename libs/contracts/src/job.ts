import type { z } from 'zod'
import type { Service } from './names.ts'

/** Work that runs apart from the request that asked for it, as plain data. */
export interface Job {
  /** `<service>.<verb_noun>`: the service before the dot runs it. */
  name: `${Service}.${string}`
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
}

export const job = <const J extends Job>(contract: J): J => contract

export const ownerOfJob = ({ name }: Job) => name.slice(0, name.indexOf('.')) as Service
/** `jobs.<service>.<job>` */
export const subjectOfJob = ({ name }: Job) => `jobs.${name}`
/** Where a job goes when its attempts are used up: `dead.<service>.<job>`. */
export const deadSubjectOfJob = ({ name }: Job) => `dead.${name}`
