import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { mayGetBetter } from '@guildhall/service/errors'
import { AckPolicy, type Consumer, type ConsumerConfig, type JsMsg } from '@nats-io/jetstream'
import { nanos } from '@nats-io/nats-core'
import type { Bus } from './connect.ts'

/** Milliseconds after which an unanswered message is given to somebody else. */
const ACK_WAIT_MS = 30_000
const HEARTBEAT_MS = ACK_WAIT_MS / 3
/** How long one request for a message waits at the server. */
const PULL_MS = 5_000
const FAULT_MS = 500
/** Faults in a row after which the log says so: streams may be made a moment after their consumers. */
const SAY_AT_FAULT = 6
/** Grows with each delivery of a message, so far that it still runs within a minute of a recovery. */
const BACKOFF_MS = [1_000, 5_000, 15_000, 45_000]

export interface Consumption {
  stream: string
  /** `<service>-<purpose>`: survives restarts, and replicas share it. */
  durable: string
  /** One filter subject: nats-server 2.9 knows no more. */
  subject: string
  /** How many messages are worked on at once. */
  concurrency: number
  /**
   * Resolves once the work is committed. An error that may get better brings the message again; any other,
   * such as a message that cannot be read, is logged and ends it.
   */
  handle(message: JsMsg): Promise<void>
}

/**
 * Works through a stream until `signal` aborts: each worker takes one message, keeps it alive by
 * heartbeats, acknowledges it after its work, and only then takes the next. Finishes what it has in hand.
 */
export async function consume(bus: Bus, consumption: Consumption, signal: AbortSignal) {
  let faults = 0
  while (!signal.aborted) {
    try {
      const consumer = await openConsumer(bus, consumption)
      faults = 0
      const workers = Array.from({ length: consumption.concurrency }, () =>
        work(bus, consumption, consumer, signal),
      )
      await Promise.all(workers)
    } catch (error) {
      faults += 1
      const { durable } = consumption
      if (faults === SAY_AT_FAULT)
        bus.log.warn({ err: error, durable }, 'Cannot consume at the moment; trying again')
      await wait(FAULT_MS, undefined, { signal }).catch(() => {})
    }
  }
}

async function openConsumer(bus: Bus, { stream, durable, subject }: Consumption) {
  const wanted = {
    durable_name: durable,
    filter_subject: subject,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_deliver: -1, // attempts are counted by whoever handles the message
  } satisfies Partial<ConsumerConfig>
  await bus.jsm.consumers.add(stream, wanted)
  return bus.js.consumers.get(stream, durable)
}

/** Throws when the stream or the consumer is gone, so that both are opened again. */
async function work(bus: Bus, consumption: Consumption, consumer: Consumer, signal: AbortSignal) {
  const aborted = once(signal, 'abort')
  while (!signal.aborted) {
    const pull = consumer.next({ expires: PULL_MS })
    await Promise.race([pull, aborted])
    if (!signal.aborted) {
      const message = await pull
      if (message) await handleOne(bus, consumption, message)
      continue
    }
    // not waited for: what still comes is for another process, at once
    const giveBack = (message: JsMsg | null) => message?.nak()
    pull.then(giveBack, (error) => bus.log.debug({ err: error }, 'The last pull ended'))
  }
}

async function handleOne(bus: Bus, { handle, durable, stream }: Consumption, message: JsMsg) {
  const beat = setInterval(() => message.working(), HEARTBEAT_MS)
  try {
    await handle(message)
    message.ack()
  } catch (error) {
    if (!mayGetBetter(error)) {
      // an error event that cannot be stored must not cause another
      const level = stream === 'ERRORS' ? 'warn' : 'error'
      bus.log[level]({ err: error, durable }, 'A message that cannot be handled was dropped')
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
