import { z } from 'zod'
import type { Caller } from './caller.ts'
import { Instant } from './fields.ts'
import type { Service } from './names.ts'

/** One line of the audit log: who did what, to what, and never the contents (decisions.md § 8). */
export const AuditEvent = z.object({
  id: z.uuid(),
  created_at: Instant,
  source: z.enum(['http', 'job', 'mcp', 'bot', 'cli']),
  action: z.string(),
  org_id: z.int().nullable(),
  actor_kind: z.enum(['officer', 'superadmin', 'member', 'machine', 'job', 'operator', 'system']),
  actor_id: z.string().nullable(),
  /** The HTTP status that a refused tool call was answered with; nothing of what was done. */
  status: z.int().nullable(),
  details: z.record(z.string(), z.unknown()),
})
export type AuditEvent = z.output<typeof AuditEvent>

/** Something worth auditing: the action in the past tense and what its line says. */
export interface AuditAction<D extends z.ZodObject = z.ZodObject> {
  action: `${Service}.${string}`
  details: D
}

export const audited = <D extends z.ZodObject>(
  action: AuditAction['action'],
  details: D,
): AuditAction<D> => ({ action, details })

/** `audit.<service>` */
export const auditSubject = (service: Service) => `audit.${service}`

/** The actor of an audit line, from the caller of a request; with the source where it is no plain request. */
export function actorOf(
  caller: Caller,
): Pick<AuditEvent, 'actor_kind' | 'actor_id'> & { source?: 'mcp' } {
  switch (caller.kind) {
    case 'public':
      return { actor_kind: 'system', actor_id: null }
    case 'machine':
      return {
        actor_kind: 'machine',
        actor_id: caller.token_id,
        ...(caller.tool !== undefined && { source: 'mcp' as const }),
      }
    case 'platform':
      return { actor_kind: 'officer', actor_id: caller.chat_user_id }
    case 'officer':
      return {
        actor_kind: caller.superadmin ? 'superadmin' : 'officer',
        actor_id: caller.chat_user_id,
      }
    case 'superadmin':
      return { actor_kind: 'superadmin', actor_id: caller.chat_user_id }
    case 'session':
    case 'member':
    case 'cli':
      return { actor_kind: 'member', actor_id: caller.chat_user_id }
    case 'identity':
      return { actor_kind: 'member', actor_id: caller.subject }
  }
}

/** One log line at error or above, as ops stores it in a group. */
export const ErrorEvent = z.object({
  id: z.uuid(),
  created_at: Instant,
  service: z.string(),
  org_id: z.int().nullable(),
  /** The error's class or code. */
  kind: z.string(),
  message: z.string(),
  stack: z.string().nullable(),
  route: z.string().nullable(),
  request_id: z.string().nullable(),
  /** Events that a full buffer had to drop before this one. */
  dropped_before: z.int().default(0),
})
export type ErrorEvent = z.output<typeof ErrorEvent>

/** `errors.<peer>` */
export const errorSubject = (peer: string) => `errors.${peer}`

/** Told to every process that may hold a copy: drop what you know of this. */
export const changed = {
  /** An org, its modules or its settings. */
  org: { thing: 'org', by: 'auth' },
  machineToken: { thing: 'machine_token', by: 'auth' },
  /** A member's cookie session, by its id. */
  session: { thing: 'session', by: 'auth' },
} as const satisfies Record<string, { thing: string; by: Service }>
export type Changed = (typeof changed)[keyof typeof changed]

/** `changed.<thing>.<id>` */
export const changedSubject = ({ thing }: Changed, id: string | number) => `changed.${thing}.${id}`
