import type { AuditEvent } from '@guildhall/contracts/event'
import { listAudit } from '@guildhall/contracts/ops'
import type { Hands } from './hands.ts'
import { answered, everyPage } from './kind.ts'
import type { Ledger } from './load.ts'

/** How many are named of many faults of one kind. */
const NAMED = 5

type Entry = Pick<AuditEvent, 'action' | 'details'>

/** The audit log of every org, as the superadmin reads it. */
export const auditLog = ({ superadmin }: Hands): Promise<Entry[]> =>
  everyPage(async (cursor) => {
    const body = await answered(superadmin().call(listAudit, { query: { limit: '500', cursor } }))
    return { ...body, items: body.entries }
  })

/** What is wrong with the writes of one kind, in sentences; that they cannot be read is wrong too. */
export const faultsOf = (ledger: Ledger, audit: Entry[]): Promise<string[]> =>
  compared(ledger, audit).catch((error) => [`${ledger.kind.name}: ${error.message}`])

async function compared(ledger: Ledger, audit: Entry[]): Promise<string[]> {
  const { kind, acknowledged, removed, faults } = ledger
  const held = (await kind.held?.()) ?? [...acknowledged]
  const there = new Set(held)
  const say = (what: string, ids: string[]) =>
    ids.length === 0
      ? []
      : [`${kind.name}: ${ids.length} ${what}: ${ids.slice(0, NAMED).join(', ')}`]
  const lost = [...acknowledged].filter((id) => !there.has(id))
  return [
    ...faults,
    ...(kind.replaces ? faultsOfLast(ledger, held) : say('acknowledged, and not there', lost)),
    ...say(
      'removed, and still there',
      [...removed].filter((id) => there.has(id)),
    ),
    ...(kind.once ? say('there twice', twice(held)) : []),
    ...(kind.once
      ? say(
          'there under another id',
          [...there].filter((id) => !acknowledged.has(id)),
        )
      : []),
    ...faultsOfAudit(ledger, audit, say),
    ...((await kind.faults?.()) ?? []),
  ]
}

const twice = (ids: string[]) => ids.filter((id, n) => ids.indexOf(id) !== n)
const numberOf = (id = '') => Number(/\d+$/.exec(id)?.[0] ?? -1)

/** The last that was acknowledged, or one sent after it that was never answered. */
function faultsOfLast({ kind, acknowledged, sent }: Ledger, held: string[]): string[] {
  const last = Math.max(...[...acknowledged].map(numberOf))
  const now = numberOf(held[0])
  if (now >= last && now <= sent) return []
  return [`${kind.name}: number ${last} was acknowledged, and ${held[0]} is there`]
}

/** Each that was ever acknowledged has one line, the removed ones too. */
function faultsOfAudit(
  { kind, everAcknowledged }: Ledger,
  audit: Entry[],
  say: (what: string, ids: string[]) => string[],
): string[] {
  if (!kind.audit) return []
  const { action, by } = kind.audit
  const lines = audit.filter((entry) => entry.action === action)
  const named = lines.map(({ details }) => String(details[by]))
  const told = new Set(named)
  return [
    ...say(
      'without audit line',
      [...everAcknowledged].filter((id) => !told.has(id)),
    ),
    ...say('with two audit lines', twice(named)),
  ]
}
