import { onLastWords } from '@guildhall/service/run'
import type { Tracker } from '@guildhall/service/tracker'
import { type ConnectOptions, connectBus } from './connect.ts'
import type { ErrorEvents } from './error-events.ts'

/** Less than a process that ends waits for. */
const CONNECT_MS = 2_000

interface Words extends Pick<ConnectOptions, 'peer' | 'url' | 'internalKey' | 'log'> {
  errors: ErrorEvents
  tracker: Tracker | undefined
}

/**
 * Has the lines by which this process ends sent as error events, with those that wait, and to the tracker. They go by a
 * connection of their own: at a fault at start there is none yet, or none any more.
 */
export function sendLastWords({ errors, tracker, ...connection }: Words) {
  onLastWords(connection.peer, async (line) => {
    errors.stream.write(line)
    tracker?.stream.write(line)
    await Promise.all([sendRest(errors, connection), tracker?.[Symbol.asyncDispose]()])
  })
}

async function sendRest(errors: ErrorEvents, connection: Omit<Words, 'errors' | 'tracker'>) {
  await using bus = await connectBus({ ...connection, timeoutMs: CONNECT_MS })
  await errors.sendAll(bus)
}
