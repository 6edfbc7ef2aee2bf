import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import type { Log } from '@guildhall/service/log'
import { LRUCache } from 'lru-cache'
import type { PodHost } from '../clients/podhost.ts'
import type { HostPod } from '../clients/podhost-shapes.ts'

/** How old what members are told of a pod may be. */
const RECENT_MS = 2_000
const ORGS_KEPT = 1_000

/** What the host says of an org's pods, by their ids; nothing where it does not answer. */
export type Seen = ReadonlyMap<string, HostPod> | undefined
export type LivePods = ReturnType<typeof createLive>

/** Reads all pods of an org at once; members who ask at the same time share one request to the host. */
export function createLive(podhost: PodHost, log: Log) {
  /** Each org's last action of ours, part of its key: what was read before is not looked at after it. */
  const lastActions = new LRUCache<number, number>({ max: ORGS_KEPT })
  let actions = 0
  const recent = new LRUCache<string, ReadonlyMap<string, HostPod>, number>({
    max: ORGS_KEPT,
    ttl: RECENT_MS,
    fetchMethod: (_key, _stale, { context: orgId }) => read(orgId),
  })
  const shared = (orgId: number) =>
    kept(recent, `${orgId} ${lastActions.get(orgId) ?? 0}`, { context: orgId })

  return {
    /** Throws where the host does not answer. At most two seconds old. */
    recent: shared,

    /** As `recent`, and nothing where the host does not answer: pods are then listed as UNKNOWN. */
    recentOrUnknown: (orgId: number): Promise<Seen> => known(shared(orgId)),

    /** As the host says now. */
    nowOrUnknown: (orgId: number): Promise<Seen> => known(read(orgId)),

    /** After an action of ours on a pod of this org. */
    forget: (orgId: number) => void lastActions.set(orgId, ++actions),
  }

  async function read(orgId: number) {
    return new Map((await podhost.list(orgId)).map((pod) => [pod.id, pod]))
  }

  async function known(reading: Promise<Seen>): Promise<Seen> {
    try {
      return await reading
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      log.warn({ err: error }, 'The pod host does not tell of pods')
      return undefined
    }
  }
}
