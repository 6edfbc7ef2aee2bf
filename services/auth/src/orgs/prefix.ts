import { AppError } from '@guildhall/service/errors'
import type { Db, Trx } from '../db.ts'

/** Words that stand in URLs where a prefix may stand (decisions.md § 1). */
const RESERVED = [
  'cli',
  'sync-all',
  'members',
  'sources',
  'packs',
  'campus',
  'api',
  'health',
  'docs',
  'mcp',
]
const LONGEST = 20
const SHORTEST = 2
const FALLBACK = 'org'

/** Throws for a word that URLs need. */
export function checkPrefix(prefix: string): void {
  if (RESERVED.includes(prefix))
    throw new AppError(
      'invalid',
      'org.prefix_reserved',
      `The prefix ${prefix} is reserved; take another`,
    )
}

/** Prefixes for an org of this name, the best first: `chess-club`, then with a number. */
export function* prefixesFor(name: string): Generator<string> {
  const base = baseOf(name)
  if (!RESERVED.includes(base)) yield base
  for (let n = 2; ; n++) yield `${base.slice(0, LONGEST - 1 - `${n}`.length)}-${n}`
}

function baseOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const words = plain.match(/[a-z0-9]+/g)?.join('-') ?? ''
  const base = words.slice(0, LONGEST).replace(/-$/, '')
  return base.length >= SHORTEST ? base : FALLBACK
}

/** The org that had this prefix before, if any. */
export async function earlierOwner(db: Db, prefix: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('reserved_prefixes')
    .select('org_id')
    .where('prefix', '=', prefix)
    .executeTakeFirst()
  return row?.org_id
}

/** Keeps a prefix for its org for ever. */
export async function reservePrefix(trx: Trx, row: { prefix: string; org_id: number }) {
  await trx
    .insertInto('reserved_prefixes')
    .values(row)
    .onConflict((on) => on.doNothing())
    .execute()
}

/**
 * Throws where the prefix that `org_id` has just taken belonged to another org. Asked after the write: by then whoever
 * gave the prefix up at the same moment has committed.
 */
export async function checkNotReserved(trx: Trx, { prefix, id }: { prefix: string; id: number }) {
  const owner = await earlierOwner(trx, prefix)
  if (owner !== undefined && owner !== id) throw prefixTaken()
}

export const prefixTaken = () =>
  new AppError('conflict', 'org.prefix_taken', 'Another org has or had this prefix; take another')
