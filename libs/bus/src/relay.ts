import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { Db } from '@guildhall/db/open'
import type { Log } from '@guildhall/service/log'
import type { Bus } from './connect.ts'
import { lossFinder } from './lost-rows.ts'
import { BATCH, sendBatch } from './send-batch.ts'
import type { BusTables } from './tables.ts'

const IDLE_MS = 100
const FAULT_MS = 1_000

/**
 * Sends what `enqueue` wrote, until `signal` aborts; each stream apart, so that one that is missing or does
 * not answer holds up no other. Any number of replicas may: each row is claimed by one, and the message id
 * makes a second sending harmless.
 */
export async function relay<T extends BusTables>(bus: Bus, database: Db<T>, signal: AbortSignal) {
  const db = database as unknown as Db<BusTables>
  const losses = lossFinder(bus, db, signal)
  bus.onConnected(async () => void bus.outbox.emit('written')) // who rests after a fault tries at once
  const fault = faultOf(bus.log)
  const senders = new Map<string, Sender>()
  function senderOf(stream: string) {
    const sender = senders.get(stream) ?? createSender(bus, signal, () => send(stream))
    senders.set(stream, sender)
    return sender
  }
  async function send(stream: string) {
    await losses.look(stream)
    while (!signal.aborted && (await sendBatch(bus, db, stream)) === BATCH);
  }
  while (!signal.aborted) {
    const written = pause(bus, signal, IDLE_MS) // heard from before the look, so that no row is missed
    try {
      const waiting = await unsentStreams(db)
      for (const stream of new Set([...waiting, ...losses.due()])) senderOf(stream).wake()
      fault.over()
      await written
    } catch (error) {
      fault.seen(error)
      await rest(bus, signal)
    }
  }
  await Promise.all([...senders.values()].map((sender) => sender.ended()))
}

type Sender = ReturnType<typeof createSender>

/** Does `send` each time that it is woken, one at a time, and again after a fault until it succeeds. */
function createSender(bus: Bus, signal: AbortSignal, send: () => Promise<void>) {
  const fault = faultOf(bus.log)
  let woken = false
  let running: Promise<void> | undefined
  async function run() {
    while (woken && !signal.aborted) {
      woken = false
      try {
        await send()
        fault.over()
      } catch (error) {
        fault.seen(error)
        await rest(bus, signal)
        woken = true
      }
    }
    running = undefined
  }
  return {
    wake() {
      woken = true
      running ??= run()
    },
    ended: async () => running,
  }
}

/** Says once that something fails, and once that it no longer does. */
function faultOf(log: Log) {
  let failing = false
  return {
    seen(error: unknown) {
      if (!failing)
        log.warn({ err: error }, 'The outbox cannot be sent at the moment; its rows wait')
      failing = true
    },
    over() {
      if (failing) log.info('The outbox is sent again')
      failing = false
    },
  }
}

/** After a fault: until there is more to send, but never so short that one tries without end. */
async function rest(bus: Bus, signal: AbortSignal) {
  const least = wait(IDLE_MS, undefined, { signal }).catch(() => {})
  await Promise.all([least, pause(bus, signal, FAULT_MS)])
}

/** Until somebody says that there is something to send, and at most so long. */
async function pause(bus: Bus, signal: AbortSignal, ms: number) {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(ms)])
  await once(bus.outbox, 'written', { signal: ended }).catch(() => {})
}

async function unsentStreams(db: Db<BusTables>): Promise<string[]> {
  const rows = await db
    .selectFrom('outbox')
    .select('stream')
    .distinct()
    .where('sent_at', 'is', null)
    .execute()
  return rows.map(({ stream }) => stream)
}
