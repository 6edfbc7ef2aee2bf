import type { Pod, PodStatus } from '@guildhall/contracts/compute'
import type { Session } from '@guildhall/contracts/pod-sessions'
import { fingerprintOf } from '../certificates/wire.ts'
import type { LivePod, SessionRow } from '../db.ts'
import type { Seen } from './live.ts'
import { NO_VOLUME } from './rules.ts'

/** What the host says of a pod: GONE where it does not know it, UNKNOWN where it says nothing. */
export function liveOf({ pod_id }: LivePod, seen: Seen) {
  const found = seen?.get(pod_id)
  const unseen: PodStatus = seen ? 'GONE' : 'UNKNOWN'
  const direct = found?.ssh.direct
  return {
    status: found?.status ?? unseen,
    host: direct?.host ?? null,
    port: direct?.port ?? null,
    cost_per_hour: found?.cost ?? null,
  }
}

/** What is known of a pod beside its row and the host's list. */
interface Known {
  sessions?: SessionRow[] | undefined
  /** What the host says last of one that it cannot run. */
  why?: string | undefined
}

/** A pod as officers see it. */
export function shownPod(row: LivePod, seen: Seen, { sessions = [], why }: Known): Pod {
  const { pod_id, name, is_public, allowed_users, created_by, machine } = row
  const { status, host, port, cost_per_hour } = liveOf(row, seen)
  const warnings = [
    ...(status === 'ERROR' ? [inError(why)] : []),
    ...(machine.volume_in_gb === 0 ? [NO_VOLUME] : []),
  ]
  return {
    pod_id,
    id: pod_id,
    name,
    status,
    is_public,
    allowed_users,
    created_by,
    created_at: row.created_at.toISOString(),
    machine,
    cost_per_hour,
    host,
    port,
    host_key: row.host_key && fingerprintOfLine(row.host_key),
    sessions: sessions.map((session) => shownSession(session, pod_id)),
    ...(warnings.length > 0 && { warning: warnings.join(' ') }),
  }
}

const inError = (why: string | undefined) =>
  why === undefined
    ? 'The pod host cannot run this pod. Read the pod alone for the last line of its log there.'
    : `The pod host cannot run this pod; its log there ends with: ${why}. Start it again, or terminate it and make another without the cause.`

/** The fingerprint of a key as it stands in known_hosts: type and base64. */
export const fingerprintOfLine = (line: string) =>
  fingerprintOf(Buffer.from(line.split(' ')[1] ?? '', 'base64'))

export function shownSession(row: SessionRow, pod_id: string): Session {
  const { id, title, started, finished, created_by } = row
  const times = { start_at: row.start_at.toISOString(), stop_at: row.stop_at.toISOString() }
  return { id, pod_id, title, ...times, started, finished, created_by }
}
