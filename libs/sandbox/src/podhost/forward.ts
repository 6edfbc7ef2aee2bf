import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Log } from '@guildhall/service/log'

const PROCESS = fileURLToPath(new URL('forward-process.ts', import.meta.url))

/** A port on the machine's loopback that leads into the network of a pod. */
export interface Forward {
  port: number
  /** Nothing listens any more, and what went through is cut. */
  close(): void
}

/**
 * Opens a free port on loopback and hands each connection to a process that lives in the network of a pod and
 * joins it to the pod's port `to`. `podPid` is a process of the pod, or nothing while it is down: then
 * connections are closed. A pod that came back in a new network is found again.
 */
export async function forwardPort(options: {
  podPid: () => number | undefined
  to: number
  log: Log
}): Promise<Forward> {
  const { podPid, to, log } = options
  let inside: { network: string; child: ChildProcess } | undefined
  const enter = (): ChildProcess | undefined => {
    const pid = podPid()
    const network = pid && networkOf(pid)
    // until it has a network of its own it is still in the machine's, where others listen
    if (!network || network === networkOf('self')) return undefined
    if (inside?.network === network && inside.child.connected) return inside.child
    inside?.child.kill('SIGKILL')
    inside = { network, child: enterNetwork(pid, to, log) }
    return inside.child
  }
  const server = createServer({ pauseOnConnect: true }, (socket) => handOver(socket, enter()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    close() {
      server.close()
      inside?.child.kill('SIGKILL')
    },
  }
}

function handOver(socket: Socket, child: ChildProcess | undefined) {
  socket.on('error', () => socket.destroy()) // the client is gone
  if (!child) return socket.destroy()
  const drop = () => socket.destroy()
  child.once('exit', drop)
  child.send('connection', socket, (error) => {
    child.off('exit', drop)
    if (error) drop()
  })
}

/** It ends with this process, however that ends: its channel closes. */
function enterNetwork(pid: number, to: number, log: Log): ChildProcess {
  const joins = [process.execPath, PROCESS, `${to}`]
  const child = spawn('nsenter', [`--net=/proc/${pid}/ns/net`, ...joins], {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  child.setMaxListeners(0) // one for each connection on its way
  child.on('error', (error) => log.warn({ err: error }, 'The network of a pod was not entered'))
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', (line) =>
      log.warn({ child: 'pod-forward' }, line),
    )
  return child
}

/** The name of a process's network namespace, or nothing where the process is gone. */
function networkOf(pid: number | 'self'): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`)
  } catch {
    return undefined
  }
}
