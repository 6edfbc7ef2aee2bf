import { setTimeout as wait } from 'node:timers/promises'
import { errorSubject } from '@guildhall/contracts/event'
import type { Peer } from '@guildhall/contracts/names'
import type { Log } from '@guildhall/service/log'
import {
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { inboxPrefix, natsPassword } from './users.ts'

/** One connection to NATS as one peer. It reconnects by itself, for ever. */
export interface Bus extends AsyncDisposable {
  peer: Peer
  nats: NatsConnection
  js: JetStreamClient
  jsm: JetStreamManager
  log: Log
  /** Runs `work` now and after each reconnection; failures are logged and tried again at the next. */
  onConnected(work: () => Promise<void>): void
}

export interface ConnectOptions {
  peer: Peer
  /** nats://host:port. A user and password in it are used as they are. */
  url: string
  internalKey: string
  log: Log
}

const RECONNECT_MS = 250
/** How long a closing connection waits for a server that is away. */
const DRAIN_MS = 3_000

/** Connects as `peer`, waiting for a server that is not there yet. */
export async function connectBus({ peer, url, internalKey, log }: ConnectOptions): Promise<Bus> {
  const { username, password, host } = new URL(url)
  const credentials = username
    ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
    : { user: peer, pass: natsPassword(internalKey, peer) }
  const nats = await connect({
    servers: host,
    ...credentials,
    name: `guildhall-${peer}`,
    inboxPrefix: inboxPrefix(peer),
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    waitOnFirstConnect: true,
    ignoreAuthErrorAbort: true,
  })
  const listeners: (() => Promise<void>)[] = []
  const run = (work: () => Promise<void>) =>
    work().catch((error) => log.warn({ err: error }, 'Work after connecting to NATS failed'))
  void watch(nats, log, () => listeners.map(run))
  return {
    peer,
    nats,
    log,
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
