import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '@guildhall/service/log'
import { sql } from 'kysely'
import type { Db } from '../db.ts'
import { beginNext, forgetOld, type Live, switchTo } from '../search/generation-queries.ts'
import { type Generations, isOutdated, KEEP_OLD_MS } from '../search/generations.ts'
import type { Indexer } from './indexer.ts'

/** Sources that are copied before it is asked again which are left. */
const PAGE = 200

export interface Rebuilding {
  db: Db
  index: Generations
  indexer: Indexer
  log: Log
}

/**
 * Makes the index again beside the old one, then switches. Searches go on all the while, and writes go to both.
 * One that was cut off goes on where it was; two at once do the same work together. Harmless twice.
 */
export async function rebuildIndex(parts: Rebuilding, signal: AbortSignal) {
  const { db, index, indexer } = parts
  await retireOld(parts, signal, 'wait')
  const { next, joined } = await db.transaction().execute(beginNext)
  let copied = 0
  while ((await index.look()).next === next) {
    const ids = await lacking(db)
    for (const id of ids) {
      signal.throwIfAborted()
      await indexer.copy(id)
      copied++
    }
    if (ids.length > 0) continue
    await (await index.opened(next)).upkeep()
    await db.transaction().execute((trx) => switchTo(trx, next))
  }
  await retireOld(parts, signal, 'leave') // else the job of each minute does
  return { generation: next, joined, sources: copied }
}

/** Goes on with a rebuild that the last process left, and makes an index of another layout again. */
export async function resumeRebuild(parts: Rebuilding, signal: AbortSignal) {
  try {
    const live = await parts.index.look()
    if (!signal.aborted && (live.next || isOutdated(live))) await rebuildIndex(parts, signal)
    await retireOld(parts, signal, 'leave')
  } catch (error) {
    if (signal.aborted) return
    parts.log.error(
      { err: error },
      'The search index cannot be made again; operator search rebuild goes on with it',
    )
  }
}

/** Drops the generation before the current one as soon as no process searches it: waits for that, or leaves it. */
export async function retireOld(
  { db, index }: Rebuilding,
  signal: AbortSignal,
  early: 'wait' | 'leave',
) {
  const live = await index.look()
  if (!live.old) return
  const due = dueIn(live, index.engine.shared)
  if (due > 0 && early === 'leave') return
  if (due > 0) await wait(due, undefined, { signal })
  await index.shut(live.old)
  await index.engine.drop(live.old)
  await forgetOld(db, live.old)
}

function dueIn({ switched_at }: Live, shared: boolean) {
  return shared && switched_at ? switched_at.getTime() + KEEP_OLD_MS - Date.now() : 0
}

async function lacking(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('sources')
    .select('id')
    .where('next_stale', '=', true)
    .orderBy('id')
    .limit(PAGE)
    .execute()
  return rows.map(({ id }) => id)
}

/** How far a rebuild is; nothing where none is under way. */
export async function rebuildProgress(db: Db) {
  const { rows } = await sql<{ sources: number; left: number }>`
    select count(*)::int as sources, count(*) filter (where next_stale)::int as left
    from sources where exists (select 1 from search_index where next is not null)
    having exists (select 1 from search_index where next is not null)`.execute(db)
  return rows[0] ?? null
}
