import { setTimeout as wait } from 'node:timers/promises'
import type { Kind } from './kind.ts'

/** From an answer that nobody got to the next try. */
const RETRY_MS = 150
/** Writes that rest longer are few, and nobody waits for them. */
const MOST_REST_MS = 1_000
/** What was sent before and not acknowledged is given this long once the load ends. */
const LAST_ANSWERS_MS = 60_000

/** What became of the writes of one kind. */
export interface Ledger {
  kind: Kind
  /** From an answer to the next write, in milliseconds. */
  restMs: number
  /** By what they are known, in the order of their answers; without those removed since. */
  acknowledged: Set<string>
  /** Ever acknowledged, the removed ones too. */
  everAcknowledged: Set<string>
  removed: Set<string>
  /** Writes that were acknowledged. */
  answers: number
  /** Writes of which nobody knows whether they happened. */
  unanswered: number
  /** The highest number that was sent. */
  sent: number
  /** Answers that no outage explains. */
  faults: string[]
}

export interface Load {
  ledgers: Ledger[]
  /** Ends with every write answered that is sent until it is. */
  stop(): Promise<void>
}

/** Writes of each kind one after another with `restMs` between, all kinds at once, until stopped. */
export function startLoad(kinds: Kind[], restMs: number): Load {
  const ending = new AbortController()
  const ledgers = kinds.map(
    (kind): Ledger => ({
      kind,
      restMs: kind.restMs ?? restMs,
      acknowledged: new Set(),
      everAcknowledged: new Set(),
      removed: new Set(),
      answers: 0,
      unanswered: 0,
      sent: -1,
      faults: [],
    }),
  )
  const running = ledgers.map((ledger) => writeUntil(ledger, ending.signal))
  return {
    ledgers,
    async stop() {
      ending.abort()
      await Promise.all(running)
    },
  }
}

/** It goes on being written, and often. */
export const isSteady = ({ kind, restMs, acknowledged, faults }: Ledger) =>
  faults.length === 0 && restMs <= MOST_REST_MS && (kind.remove || acknowledged.size < mostOf(kind))

const mostOf = ({ most = Number.POSITIVE_INFINITY }: Kind) => most

async function writeUntil(ledger: Ledger, signal: AbortSignal) {
  const { kind, acknowledged } = ledger
  for (let n = 0; !signal.aborted; n += 1) {
    const full = acknowledged.size >= mostOf(kind)
    if (full && !kind.remove) return
    if (full) await removeOldest(ledger)
    await writeOne(ledger, n, signal)
    await wait(ledger.restMs, undefined, { signal }).catch(() => {})
  }
}

async function writeOne(ledger: Ledger, n: number, signal: AbortSignal) {
  const { kind } = ledger
  ledger.sent = n
  let deadline = Number.POSITIVE_INFINITY
  while (performance.now() < deadline) {
    const id = await kind.write(n).catch((error) => fault(ledger, error))
    if (id !== undefined) {
      ledger.acknowledged.add(id)
      ledger.everAcknowledged.add(id)
      ledger.answers += 1
      return
    }
    ledger.unanswered += 1
    if (!kind.once || ledger.faults.length > 0) return
    if (signal.aborted) deadline = Math.min(deadline, performance.now() + LAST_ANSWERS_MS)
    await wait(RETRY_MS)
  }
  ledger.faults.push(`${kind.name}: number ${n} was never answered`)
}

async function removeOldest(ledger: Ledger) {
  const { kind, acknowledged, removed } = ledger
  const [oldest = ''] = acknowledged
  acknowledged.delete(oldest) // from here on it may be gone
  const gone = await kind.remove?.(oldest).catch((error) => fault(ledger, error))
  if (gone) removed.add(oldest)
}

function fault({ kind, faults }: Ledger, error: Error): undefined {
  faults.push(`${kind.name}: ${error.message}`)
}
