import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Child, superviseChild } from '@guildhall/service/child'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import { forwardPort } from './forward.ts'
import type { PodRecord } from './shapes.ts'

const POD_ROOT = fileURLToPath(new URL('pod-root.sh', import.meta.url))
const IMAGE = fileURLToPath(new URL('../../../../deploy/pod-image', import.meta.url))
/** systemd's range for the user ids of containers begins at 0x80000 and ends at 0x6fffffff; this is its upper end. */
const FIRST_UID = 0x6000_0000
const UIDS_PER_POD = 0x1_0000
/** How many pods fit into the range. */
export const MOST_PODS = 4_096
const SSH_PORT = 22
const READY_WITHIN_MS = 15_000
/** How long a start waits for the processes of a sandbox that was killed. */
const LOCK_SECONDS = 10
/** Without the scripts of the reference image: it gets them from CLI_SETUP. */
const BARE_IMAGE = /^sandbox\/bare\b/

/** Name and options of the command that gives its child namespaces of its own, and ends with it. */
const UNSHARE = [
  ...['unshare', '--mount', '--propagation', 'private', '--uts', '--ipc'],
  ...['--net', '--pid', '--fork', '--kill-child'],
]

export interface Running extends Child {
  /** Where its sshd answers on the machine's loopback. */
  port: number
  startedAt: Date
}

export interface PodOptions {
  folder: string
  record: PodRecord
  /** From `findOpenssh`. */
  openssh: string
  log: Log
}

/**
 * Starts a pod's sshd in namespaces of its own and resolves once it listens. The container disk is new, the
 * volume is kept. Its network is a loopback of its own, into which one port of the machine's leads. Killed, it
 * comes back on the same port; it ends with this process, however that ends.
 * Throws AppError with the reason where the machine does not let it.
 */
export async function runPod(options: PodOptions): Promise<Running> {
  checkMachine()
  let child: Child | undefined
  const forward = await forwardPort({ podPid: () => child?.pid(), to: SSH_PORT, log: options.log })
  try {
    child = await startPod(options, forward.port)
  } catch (error) {
    forward.close()
    throw error
  }
  const { pid, stop } = child
  return {
    pid,
    async stop() {
      await stop()
      forward.close()
    },
    port: forward.port,
    startedAt: new Date(),
  }
}

async function startPod({ folder, record, openssh, log }: PodOptions, port: number) {
  const { image, mounts, env } = record.config
  const given = {
    ...env,
    RUNPOD_POD_ID: record.id,
    RUNPOD_PUBLIC_IP: '127.0.0.1',
    RUNPOD_TCP_PORT_22: String(port),
  }
  const lines = Object.entries(given).map(([name, value]) => `${name}=${value}\0`)
  await writeFile(join(folder, 'env'), lines.join(''), { mode: 0o600 })
  const [command = '', ...args] = [
    ...['flock', '--no-fork', '--timeout', `${LOCK_SECONDS}`, join(folder, 'lock')],
    ...[...UNSHARE, 'sh', POD_ROOT, folder, `${FIRST_UID + record.slot * UIDS_PER_POD}`],
    ...[mounts.persistent?.path ?? '/workspace', mounts.persistent ? 'volume' : 'disk'],
    ...[BARE_IMAGE.test(image) ? 'bare' : 'full', IMAGE, openssh === '/' ? '' : openssh],
  ]
  return superviseChild({
    name: 'pod',
    command,
    args,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stopSignal: 'SIGKILL',
    readyWithinMs: READY_WITHIN_MS,
    ready: { line: /^Server listening on/ },
    log,
  })
}

function checkMachine() {
  if (process.platform !== 'linux')
    throw new AppError('unavailable', 'pod.needs_linux', 'Pods of the sandbox need Linux')
  if (process.getuid?.() === 0) return
  const message = 'Pods of the sandbox need root, to make namespaces: start Guildhall as root'
  throw new AppError('unavailable', 'pod.needs_root', message)
}
