import type { Memory, NewMemory } from '@guildhall/contracts/agent-memories'
import type { Sealer } from '@guildhall/outbound/sealed'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { MemoryRow, Owner } from '../db.ts'

const DAY_MS = 86_400_000
/** What sensitive memories are sealed for. */
export const SEALED_USE = 'agents.memories'

/** A seal opens for its own memory and member alone, so no row can be passed off as another's. */
const belongsTo = ({ id, org_id, chat_user_id }: Owner & { id: string }) => ({
  org: org_id,
  field: `memory.${chat_user_id}.${id}`,
})

/** The row of a memory. Throws 503 `secrets_key.unset` for a sensitive one without SECRETS_KEY. */
export function memoryRow(sealer: Sealer, owner: Owner, memory: NewMemory, now: Date): MemoryRow {
  const { kind, content, sensitivity, confidence, source_seq, expires_in_days: days } = memory
  const id = newId(now.getTime())
  const sensitive = sensitivity === 'sensitive'
  const sealed = sensitive ? sealer.seal(content, belongsTo({ id, ...owner })) : null
  const expires_at = days === null ? null : new Date(now.getTime() + days * DAY_MS)
  const text = { content: sensitive ? null : content, sealed_content: sealed }
  return { id, ...owner, kind, ...text, confidence, source_seq, expires_at, created_at: now }
}

/** A memory as its member and their agents see it; nothing for a sensitive one that cannot be opened. */
export function shownMemory(sealer: Sealer, row: MemoryRow): Memory | undefined {
  const content = contentOf(sealer, row)
  if (content === undefined) return undefined
  const { id, kind, sealed_content, confidence, source_seq, expires_at, created_at } = row
  return {
    id,
    kind,
    content,
    sensitivity: sealed_content === null ? 'normal' : 'sensitive',
    confidence,
    source_seq,
    expires_at: expires_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  }
}

function contentOf(sealer: Sealer, row: MemoryRow): string | undefined {
  if (row.sealed_content === null) return row.content ?? undefined
  try {
    return sealer.open(row.sealed_content, belongsTo(row)).toString()
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}
