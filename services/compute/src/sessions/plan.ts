import type { PodStatus } from '@guildhall/contracts/compute'
import type { SessionRow } from '../db.ts'
import { DOWN, UP } from '../pods/tell.ts'

/** How long before a session its pod is started (interface.md, Limits). */
export const LEAD_MS = 10 * 60_000

/** What the schedule is to do with one pod. */
export interface Plan {
  action: 'start' | 'stop' | undefined
  /** Sessions for which the pod runs, once `action` is done. */
  started: SessionRow[]
  /** Sessions that are over, once `action` is done. */
  over: SessionRow[]
}

/**
 * What a pod's unfinished sessions ask for (interface.md, States, Pods). A pod is started once for a
 * session: one that an officer stops meanwhile stays stopped. It is stopped after a session, also where it
 * ran before, unless another one is open or about to be.
 */
export function planFor(sessions: SessionRow[], status: PodStatus, now: Date): Plan {
  const isOver = ({ stop_at, removed }: SessionRow) => removed || stop_at <= now
  const isOpen = (one: SessionRow) =>
    !isOver(one) && one.start_at.getTime() - LEAD_MS <= now.getTime()
  const over = sessions.filter(isOver)
  const open = sessions.filter(isOpen)
  const started = open.filter((one) => !one.started)
  if (status === 'UNKNOWN') return { action: undefined, started: [], over: [] }
  if (UP.includes(status)) {
    const stop = over.length > 0 && open.length === 0
    return { action: stop ? 'stop' : undefined, started, over }
  }
  if (DOWN.includes(status))
    return { action: started.length > 0 ? 'start' : undefined, started, over }
  return { action: undefined, started: [], over } // gone: there is nothing to start
}
