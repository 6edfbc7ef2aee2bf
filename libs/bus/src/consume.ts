import { setTimeout as wait } from 'node:timers/promises'
import { AckPolicy, type ConsumerConfig, type JsMsg } from '@nats-io/jetstream'
import { nanos } from '@nats-io/nats-core'
import { z } from 'zod'
import type { Bus } from './connect.ts'

/** Milliseconds after which an unanswered message is given to somebody else. */
const ACK_WAIT_MS = 30_000
const HEARTBEAT_MS = ACK_WAIT_MS / 3
const FAULT_MS = 1_000
/** Grows with each delivery of a message up to a minute. */
const BACKOFF_MS = [1_000, 5_000, 15_000, 60_000]

export interface Consumption {
  stream: string
  /** `<service>-<purpose>`: survives restarts, and replicas share it. */
  durable: string
  /** One filter subject: nats-server 2.9 knows no more. */
  subject: string
  /** How many messages are worked on at once. */
  concurrency: number
  /** Resolves once the work is committed. What it throws is logged, and the message comes again, unless nobody could ever read it. */
  handle(message: JsMsg): Promise<void>
}

/**
 * Works through a stream until `signal` aborts: each message is acknowledged only after its work, kept
 * alive by heartbeats meanwhile, and given again after a failure. Finishes what it has in hand.
 */
export async function consume(bus: Bus, consumption: Consumption, signal: AbortSignal) {
  let failing = false
  while (!signal.aborted) {
    try {
      await ensureConsumer(bus, consumption)
      failing = false
      await workUntilBroken(bus, consumption, signal)
    } catch (error) {
      if (!failing)
        bus.log.warn(
          { err: error, durable: consumption.durable },
          'Cannot consume at the moment; trying again',
        )
      failing = true
    }
    if (!signal.aborted) await wait(FAULT_MS, undefined, { signal }).catch(() => {})
  }
}

async function ensureConsumer(bus: Bus, { stream, durable, subject }: Consumption) {
  const wanted: ConsumerConfig = {
    durable_name: durable,
    filter_subject: subject,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_deliver: -1, // attempts are counted by whoever handles the message
    max_ack_pending: 1_000,
  } as ConsumerConfig
  await bus.jsm.consumers.add(stream, wanted)
}

async function workUntilBroken(bus: Bus, consumption: Consumption, signal: AbortSignal) {
  const { stream, durable, concurrency } = consumption
  const consumer = await bus.js.consumers.get(stream, durable)
  const messages = await consumer.consume({
    max_messages: concurrency,
    abort_on_missing_resource: true,
  })
  const stop = () => messages.stop()
  signal.addEventListener('abort', stop, { once: true })
  const inHand = new Set<Promise<void>>()
  try {
    for await (const message of messages) {
      const work = handleOne(bus, consumption, message).finally(() => inHand.delete(work))
      inHand.add(work)
      if (inHand.size >= concurrency) await Promise.race(inHand)
    }
  } finally {
    signal.removeEventListener('abort', stop)
    await Promise.all(inHand)
  }
}

/** A message of another shape, or holding what Postgres cannot (SQLSTATE class 22), does not get better. */
function isHopeless(error: unknown) {
  const { code } = error as { code?: unknown }
  return (
    error instanceof z.ZodError ||
    error instanceof SyntaxError ||
    /^22[0-9A-Z]{3}$/.test(String(code))
  )
}

async function handleOne(bus: Bus, { handle, durable, stream }: Consumption, message: JsMsg) {
  const beat = setInterval(() => message.working(), HEARTBEAT_MS)
  try {
    await handle(message)
    message.ack()
  } catch (error) {
    if (isHopeless(error)) {
      // an error event that cannot be stored must not cause another
      const level = stream === 'ERRORS' ? 'warn' : 'error'
      bus.log[level]({ err: error, durable }, 'A message that nobody can read was dropped')
      message.term()
      return
    }
    const delay =
      BACKOFF_MS[Math.min(message.info.deliveryCount, BACKOFF_MS.length) - 1] ?? FAULT_MS
    bus.log.warn({ err: error, durable, delay }, 'A message failed and will come again')
    message.nak(delay)
  } finally {
    clearInterval(beat)
  }
}
