import { setTimeout as wait } from 'node:timers/promises'
import { type ErrorEvent, errorSubject } from '@guildhall/contracts/event'
import { newId } from '@guildhall/service/id'
import { droppedErrors } from '@guildhall/service/metrics'
import { storable } from '@guildhall/service/storable'
import type { Bus } from './connect.ts'

/** Events that wait for the bus; more are counted and dropped (decisions.md § 8). */
const MOST_WAITING = 1_000
const FLUSH_MS = 250
const BATCH = 100
/** How long the end of a process waits for what is still to be sent. */
const LAST_FLUSH_MS = 3_000

const MOST_KIND_CHARS = 200
const MOST_MESSAGE_CHARS = 2_000
const MOST_STACK_CHARS = 8_000

interface LogLine {
  ts: string
  logger: string
  msg?: string
  err?: { type?: unknown; message?: unknown; stack?: unknown; code?: unknown }
  org?: unknown
  route?: string
  reqId?: string
}

/**
 * Turns log lines at error or above into error events. Give `stream` to the logger first and `attach` the
 * bus once it is there. Nothing here logs an error, so that none can cause another.
 */
export function createErrorEvents() {
  let waiting: ErrorEvent[] = []
  let dropped = 0
  const stream = {
    write(line: string) {
      if (waiting.length >= MOST_WAITING) {
        dropped += 1
        droppedErrors.inc()
      } else waiting.push(eventOf(JSON.parse(line) as LogLine))
    },
  }

  async function flush(bus: Bus) {
    const batch = waiting.slice(0, BATCH)
    if (!batch[0]) return
    batch[0].dropped_before += dropped // others may be dropped while these are sent
    dropped = 0
    await Promise.all(
      batch.map((event) =>
        bus.js.publish(errorSubject(bus.peer), JSON.stringify(event), { msgID: event.id }),
      ),
    )
    waiting = waiting.filter((event) => !batch.includes(event))
  }

  /**
   * Sends what waits, and from now on what comes. Dispose it after all that may log and before the bus: it sends the rest,
   * as far as that is taken within seconds.
   */
  function attach(bus: Bus): AsyncDisposable {
    let sending: Promise<void> | undefined
    const send = async () => {
      await flush(bus).catch((error) =>
        bus.log.warn({ err: error }, 'Error events cannot be sent; they wait'),
      )
      sending = undefined
    }
    const timer = setInterval(() => {
      if (waiting.length > 0) sending ??= send()
    }, FLUSH_MS)
    return {
      async [Symbol.asyncDispose]() {
        clearInterval(timer)
        const rest = Promise.resolve(sending).then(() => sendAll(bus))
        const late = wait(LAST_FLUSH_MS, undefined, { ref: false })
        await Promise.race([rest.catch(() => {}), late]) // what failed still waits, and is told of below
        const lost = waiting.length + dropped
        if (lost > 0) bus.log.warn({ lost }, 'Error events were not sent before the end')
      },
    }
  }

  /** Sends all that waits, for the end of a process. */
  async function sendAll(bus: Bus) {
    while (waiting.length > 0) await flush(bus)
  }
  return { stream, attach, sendAll }
}
export type ErrorEvents = ReturnType<typeof createErrorEvents>

function eventOf({ ts, logger, msg, err, org, route, reqId }: LogLine): ErrorEvent {
  return {
    id: newId(),
    created_at: ts,
    service: logger,
    org_id: typeof org === 'number' ? org : null,
    kind: storable(err?.code ?? err?.type ?? 'Error', MOST_KIND_CHARS),
    message: storable(err?.message ?? msg ?? '', MOST_MESSAGE_CHARS),
    stack: err?.stack ? storable(err.stack, MOST_STACK_CHARS) : null,
    route: route ?? null,
    request_id: reqId ?? null,
    dropped_before: 0,
  }
}
