import { setTimeout as wait } from 'node:timers/promises'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { actorOf } from '@guildhall/contracts/event'
import { toolUsed } from '@guildhall/contracts/mcp'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import type { Asker } from './usable.ts'

type Told = z.input<typeof toolUsed.details>
/** What became of a call, and of a refusal its code and the HTTP status that answers it. */
export interface Outcome {
  outcome: Told['outcome']
  code: string | null
  status: number | null
}

const MOST_NAME_CHARS = 100
/** Who used a tool waits no longer than this for the line of what was done already. */
const MOST_WAIT_MS = 2_000

/** The audit lines of one call. */
export function notesOf({ db, log }: Pick<Deps, 'db' | 'log'>, asker: Asker, name: string) {
  const tool = name.slice(0, MOST_NAME_CHARS).toWellFormed() // of one that there is not, whatever was sent
  const by = { ...actorOf(asker.caller), source: 'mcp' as const }

  /** Is in the database once it resolves. */
  async function write({ outcome, code, status }: Outcome) {
    const line = audit(toolUsed, by, asker.org, { tool, outcome, code }, status)
    await db.transaction().execute((trx) => enqueue(trx, line))
  }

  /** The same of what was done already: one that cannot be written is logged, and holds up the answer for seconds. */
  async function settle(became: Outcome) {
    const { request_id } = asker
    const about = { tool, outcome: became.outcome, org: asker.org.id, reqId: request_id }
    const written = write(became).catch((error) =>
      log.error({ err: error, ...about }, 'What became of a tool is not in the audit log'),
    )
    await Promise.race([written, wait(MOST_WAIT_MS, undefined, { ref: false })])
  }
  return { write, settle }
}
