import { EventEmitter } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { errorSubject } from '@guildhall/contracts/event'
import type { Peer } from '@guildhall/contracts/names'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import {
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node'
import { inboxPrefix, natsPassword } from './users.ts'

/** One connection to NATS as one peer. It reconnects by itself, for ever. */
export interface Bus extends AsyncDisposable {
  peer: Peer
  nats: NatsConnection
  js: JetStreamClient
  jsm: JetStreamManager
  log: Log
  /** `written`: a transaction with outbox rows has committed, and they may be sent without waiting. */
  outbox: EventEmitter<{ written: [] }>
  /** Runs `work` now and after each reconnection, and again after a failure until it succeeds. */
  onConnected(work: () => Promise<void>): void
}

export interface ConnectOptions {
  peer: Peer
  /** nats://host:port. A user and password in it are used as they are. */
  url: string
  internalKey: string
  log: Log
  /** Throws `nats.unreachable` after so long; waits for ever where nothing is said. */
  timeoutMs?: number
}

const RECONNECT_MS = 250
/** A server that leaves two of these unanswered hangs, and is connected to anew. */
const PING_MS = 5_000
/** After so long a silence the log says what is waited for. */
const SAY_MS = 5_000
const AGAIN_MS = 1_000
/** How long a closing connection waits for a server that is away. */
const DRAIN_MS = 3_000

/** Connects as `peer`, waiting for a server that is not there yet. */
export async function connectBus({
  peer,
  url,
  internalKey,
  log,
  timeoutMs,
}: ConnectOptions): Promise<Bus> {
  const { username, password, host } = new URL(url)
  const credentials = username
    ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
    : { user: peer, pass: natsPassword(internalKey, peer) }
  const waiting = setTimeout(
    () =>
      log.warn(
        `Waiting for NATS at ${host} as user ${credentials.user}: it does not answer, or refuses the password`,
      ),
    SAY_MS,
  )
  const options = {
    servers: host,
    ...credentials,
    name: `guildhall-${peer}`,
    inboxPrefix: inboxPrefix(peer),
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    ignoreAuthErrorAbort: timeoutMs === undefined,
  }
  const nats = await (timeoutMs === undefined
    ? connect({ ...options, waitOnFirstConnect: true })
    : connectWithin(options, timeoutMs)
  )
    .catch((cause) => {
      const message = `NATS at ${host} does not answer or refuses the user ${credentials.user}`
      throw new AppError('unavailable', 'nats.unreachable', message, { cause })
    })
    .finally(() => clearTimeout(waiting))
  const listeners: (() => Promise<void>)[] = []
  /** A later connection takes over what an earlier one still tries. */
  let connection = 0
  async function run(work: () => Promise<void>) {
    const mine = connection
    while (mine === connection && !nats.isClosed() && !nats.isDraining()) {
      try {
        return await work()
      } catch (error) {
        log.warn({ err: error }, 'Work after connecting to NATS failed; trying again')
        await wait(AGAIN_MS)
      }
    }
  }
  void watch(nats, log, () => {
    connection += 1
    for (const work of listeners) void run(work)
  })
  return {
    peer,
    nats,
    log,
    outbox: new EventEmitter(),
    js: jetstream(nats),
    jsm: await jetstreamManager(nats, { checkAPI: false }),
    onConnected(work) {
      listeners.push(work)
      void run(work)
    },
    async [Symbol.asyncDispose]() {
      if (nats.isClosed()) return
      const late = wait(DRAIN_MS, undefined, { ref: false })
      await Promise.race([nats.drain(), late])
      await nats.close()
    },
  }
}

/** Tries again and again; the library itself would for ever. */
async function connectWithin(options: ConnectionOptions, timeoutMs: number) {
  const end = performance.now() + timeoutMs
  for (;;) {
    try {
      return await connect({ ...options, timeout: Math.max(end - performance.now(), 1) })
    } catch (error) {
      if (performance.now() + RECONNECT_MS > end) throw error
      await wait(RECONNECT_MS)
    }
  }
}

/** A line at error becomes an event: one about a refused event must not cause the next. */
function sayRefused(log: Log, error: Error) {
  const { subject } = error as Error & { subject?: string }
  const level = subject?.startsWith(errorSubject('')) ? 'warn' : 'error'
  log[level]({ err: error }, 'NATS refused something')
}

async function watch(nats: NatsConnection, log: Log, connected: () => void) {
  for await (const status of nats.status()) {
    if (status.type === 'disconnect') log.warn('Lost the connection to NATS; trying again')
    if (status.type === 'error') sayRefused(log, status.error)
    if (status.type === 'reconnect') {
      log.info('Connected to NATS again')
      connected()
    }
  }
}
