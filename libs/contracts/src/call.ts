import type { z } from 'zod'
import type { Peer, Service } from './names.ts'

/** One request that a service answers over NATS, as plain data. */
export interface Call {
  service: Service
  /** lower_snake; the subject is `rpc.<service>.<name>`. */
  name: string
  summary: string
  /** Who may call. NATS refuses everybody else. */
  callers: readonly Peer[]
  args: z.ZodType
  reply: z.ZodType
  /** Milliseconds until the caller gives up; 2 000 where nothing is said. */
  deadlineMs?: number
}

export const call = <const C extends Call>(contract: C): C => contract

export const subjectOfCall = ({ service, name }: Call) => `rpc.${service}.${name}`
