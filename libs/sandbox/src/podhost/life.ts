import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '@guildhall/service/log'
import type { Place } from './place.ts'
import { saveRecord } from './records.ts'
import { type Running, runPod } from './run.ts'
import type { PodAction, PodRecord } from './shapes.ts'

/** A pod on its way out; what a killed sandbox left of it is removed at the next start. */
export const GONE = '.gone-'

/** A pod and how it goes. */
export interface Pod {
  record: PodRecord
  /** Of a pod that is wanted; see `stateOf`. */
  state: 'PROVISIONING' | 'STARTING' | 'RUNNING' | 'ERROR' | 'TERMINATED'
  running?: Running | undefined
  /** What the host's log of the pod says. */
  lines: { ts: string; line: string }[]
  /** The last of its starts and stops: one follows the other. */
  turn: Promise<void>
}

export interface Host {
  place: Place
  log: Log
}

/** The host's word for how a pod goes. */
export function stateOf({ state, record }: Pod) {
  if (state === 'TERMINATED') return state
  return record.wanted === 'stopped' ? 'EXITED' : state
}

/** Does what an officer asked for. A start and a restart go on after it resolves; a stop is done by then. */
export async function act(host: Host, pod: Pod, action: PodAction): Promise<void> {
  switch (action) {
    case 'start':
      await want(host, pod, 'running')
      return startSoon(host, pod)
    case 'restart':
      pod.state = 'STARTING'
      void follow(pod, () => halt(pod))
      return startSoon(host, pod)
    case 'stop':
      await want(host, pod, 'stopped')
      return follow(pod, () => halt(pod).then(() => clearDisk(host, pod)))
    case 'terminate':
      pod.state = 'TERMINATED'
      return follow(pod, () => halt(pod).then(() => remove(host, pod)))
  }
}

/** The pod is up a moment later, or in ERROR with the reason in its log. */
export function startSoon(host: Host, pod: Pod) {
  if (pod.state !== 'PROVISIONING') pod.state = 'STARTING'
  void follow(pod, () => boot(host, pod))
}

/** Runs after all that was begun before. */
export function follow(pod: Pod, work: () => Promise<void>): Promise<void> {
  const done = pod.turn.then(work)
  pod.turn = done.catch(() => {}) // whoever waits for `done` is told
  return done
}

async function boot({ place, log }: Host, pod: Pod) {
  const { record } = pod
  if (stateOf(pod) === 'EXITED' || pod.state === 'TERMINATED') return
  pod.state = 'STARTING'
  try {
    const openssh = await place.openssh()
    const folder = await place.folder(record.id)
    pod.running = await runPod({ folder, record, openssh, log })
    say(pod, `container started, sshd on port ${pod.running.port}`)
    move(pod, 'RUNNING')
  } catch (error) {
    say(pod, (error as Error).message)
    move(pod, 'ERROR')
    log.warn({ pod: record.id, err: error }, 'A pod of the sandbox could not be started')
  }
}

function move(pod: Pod, state: 'RUNNING' | 'ERROR') {
  if (pod.state !== 'TERMINATED') pod.state = state // else: while it started
}

/** Ends the pod's processes. */
export async function halt(pod: Pod) {
  const { running } = pod
  pod.running = undefined
  await running?.stop()
}

async function want({ place }: Host, pod: Pod, wanted: PodRecord['wanted']) {
  pod.record = { ...pod.record, wanted }
  await saveRecord(await place.folder(pod.record.id), pod.record)
}

async function clearDisk({ place }: Host, { record }: Pod) {
  const folder = await place.folder(record.id)
  for (const part of ['disk', 'local']) {
    await rm(join(folder, part), { recursive: true, force: true })
  }
}

async function remove({ place }: Host, { record }: Pod) {
  const gone = await place.folder(GONE + record.id)
  await rename(await place.folder(record.id), gone)
  await rm(gone, { recursive: true, force: true })
}

const say = (pod: Pod, line: string) => pod.lines.push({ ts: new Date().toISOString(), line })
