import { openRemote, type Remote } from '../clients/ssh.ts'
import type { LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'
import { hostKeyChanged } from '../host-keys/pin.ts'
import { openKey } from '../keys/keys.ts'
import { opensshPrivateKey } from '../keys/openssh.ts'
import { runningPod } from '../pods/running.ts'

/** How long a connection that nobody uses is kept. */
const IDLE_MS = 60_000

interface Kept {
  remote: Promise<Remote>
  users: number
  idle?: NodeJS.Timeout | undefined
}
/** A connection that stays open until `release`, which may be called more than once. */
export interface Held {
  remote: Remote
  release: () => void
}
export type Connections = ReturnType<typeof createConnections>

/** One SSH connection per pod and start of it, opened with the org's backend key and closed when nobody uses it. */
export function createConnections(deps: Deps, idleMs = IDLE_MS) {
  const kept = new Map<string, Kept>()

  function closeSoon(name: string, one: Kept) {
    one.idle = setTimeout(() => {
      kept.delete(name)
      one.remote.then(({ close }) => close()).catch(() => {}) // it has not been opened
    }, idleMs).unref()
  }

  function find(name: string, open: () => Promise<Remote>): Kept {
    const known = kept.get(name)
    if (known) return known
    const one: Kept = { remote: open(), users: 0 }
    kept.set(name, one)
    const forget = () => {
      if (kept.get(name) === one) kept.delete(name)
    }
    one.remote.then(({ onClose }) => onClose(forget), forget)
    return one
  }

  return {
    /** Throws 409 where the pod does not run, and 502 where it does not let us in. */
    async hold(row: LivePod): Promise<Held> {
      const { pod, address } = await runningPod(deps, row)
      const hostKey = await deps.hostKeys.pinned(row, pod, address)
      const name = JSON.stringify([row.id, pod.startedAt, address.host, address.port, hostKey])
      const one = find(name, async () => {
        const privateKey = opensshPrivateKey(await openKey(deps, row.org_id, 'backend'))
        return openRemote({ ...address, privateKey, hostKey, changed: hostKeyChanged })
      })
      clearTimeout(one.idle)
      one.users++
      const release = releaser(() => {
        if (--one.users === 0) closeSoon(name, one)
      })
      try {
        return { remote: await one.remote, release }
      } catch (error) {
        release()
        throw error
      }
    },
    close() {
      for (const { remote, idle } of kept.values()) {
        clearTimeout(idle)
        remote.then(({ close }) => close()).catch(() => {}) // it has not been opened
      }
      kept.clear()
    },
  }
}

/** Runs once, however often it is called. */
function releaser(work: () => void) {
  let done = false
  return () => {
    if (!done) work()
    done = true
  }
}
