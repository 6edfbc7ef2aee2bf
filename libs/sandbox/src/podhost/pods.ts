import { randomInt } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { act, follow, GONE, type Host, halt, type Pod, startSoon } from './life.ts'
import { createPlace, type PlaceOptions } from './place.ts'
import { loadRecords, saveRecord } from './records.ts'
import { MOST_PODS } from './run.ts'
import type { NewPod, PodAction, PodPatch, PodRecord } from './shapes.ts'

export type Pods = ReturnType<typeof createPods>

const ID_LENGTH = 14
const ID_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** The pods of the emulated host: real processes, each with its own root below `<home>/pods/<id>`. */
export function createPods(options: PlaceOptions) {
  const pods = new Map<string, Pod>()
  const place = createPlace(options)
  const host: Host = { place, log: options.log }
  return {
    list: (account: string) =>
      [...pods.values()].filter(({ record }) => record.account === account),
    /** Whoever's it is. */
    byId: (id: string) => pods.get(id),
    find(account: string, id: string) {
      const pod = pods.get(id)
      return pod?.record.account === account ? pod : undefined
    },
    /** Resolves once the pod is kept; it starts meanwhile. Nothing where the host is full. */
    async create(account: string, config: NewPod): Promise<Pod | undefined> {
      const slot = freeSlot(pods)
      if (slot === undefined) return undefined
      const pod = newPod(newRecord(account, slot, config))
      pods.set(pod.record.id, pod)
      const folder = await place.folder(pod.record.id)
      await mkdir(folder, { mode: 0o700 })
      await saveRecord(folder, pod.record)
      startSoon(host, pod)
      return pod
    },
    /** The name changes at once, the rest at the next start. */
    async change(pod: Pod, { locked = pod.record.locked, ...patch }: PodPatch) {
      pod.record = { ...pod.record, locked, config: patched(pod.record.config, patch) }
      await saveRecord(await place.folder(pod.record.id), pod.record)
    },
    async act(pod: Pod, action: PodAction) {
      if (action === 'terminate') pods.delete(pod.record.id)
      await act(host, pod, action)
    },
    /** Starts again what ran when the sandbox ended, and removes what it was about to remove. */
    async resume() {
      if (place.temporary) return
      for (const record of await loadRecords(await place.folder(), GONE)) {
        const pod = newPod(record)
        pods.set(record.id, pod)
        startSoon(host, pod)
      }
    },
    /** Ends every process. Pods that ran do so again after `resume`. */
    async stop() {
      await Promise.all([...pods.values()].map((pod) => follow(pod, () => halt(pod))))
      await place.close()
    },
  }
}

/** A configuration with what a patch names. */
export function patched(config: NewPod, patch: PodPatch): NewPod {
  const given = Object.entries(patch).filter(([, value]) => value !== undefined)
  return { ...config, ...Object.fromEntries(given) }
}

function freeSlot(pods: ReadonlyMap<string, Pod>): number | undefined {
  const taken = new Set([...pods.values()].map(({ record }) => record.slot))
  for (let slot = 0; slot < MOST_PODS; slot++) if (!taken.has(slot)) return slot
  return undefined
}

function newRecord(account: string, slot: number, config: NewPod): PodRecord {
  const id = Array.from({ length: ID_LENGTH }, () => ID_LETTERS[randomInt(36)]).join('')
  const createdAt = new Date().toISOString()
  return { id, account, slot, config, locked: false, wanted: 'running', createdAt }
}

const newPod = (record: PodRecord): Pod => ({
  record,
  state: 'PROVISIONING',
  lines: [],
  turn: Promise.resolve(),
})
