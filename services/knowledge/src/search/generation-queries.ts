import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Db, Tables, Trx } from '../db.ts'
import { LAYOUT } from './index.ts'

/** Which generations there are. `current` is searched; all are written. */
export interface Live {
  current: string
  next: string | null
  old: string | null
  switched_at: Date | null
}

export const newGeneration = () => `${LAYOUT}-${randomBytes(4).toString('hex')}`

const COLUMNS = ['current', 'next', 'old', 'switched_at'] as const

export const liveNow = (db: Db): Promise<Live> =>
  db.selectFrom('search_index').select(COLUMNS).executeTakeFirstOrThrow()

/**
 * As it is once a rebuild that is beginning has begun: whoever writes a source after this knows of it, and what was
 * there before is copied by it.
 */
export const liveForWriting = (db: Db): Promise<Live> =>
  db.selectFrom('search_index').select(COLUMNS).forShare().executeTakeFirstOrThrow()

/** The row, made if it is missing, and made new where another engine was used last. */
export async function liveOf(db: Db, engine: Tables['search_index']['engine']): Promise<Live> {
  const fresh = { engine, current: newGeneration(), next: null, old: null, switched_at: null }
  await db
    .insertInto('search_index')
    .values(fresh)
    .onConflict((on) =>
      on.column('one').doUpdateSet(fresh).where('search_index.engine', '!=', engine),
    )
    .execute()
  return liveNow(db)
}

/** Names the current generation anew, because the one there was cannot be used. */
export async function replaceCurrent(db: Db): Promise<Live> {
  const fresh = { current: newGeneration(), next: null }
  await db.updateTable('search_index').set(fresh).execute()
  return liveNow(db)
}

/** Forgets a next generation whose layout is not ours: an older program began it. */
export async function forgetNext(db: Db) {
  await db.updateTable('search_index').set({ next: null }).execute()
}

/** Begins a generation beside the current one, which lacks every source; one that has begun goes on. */
export async function beginNext(trx: Trx): Promise<{ next: string; joined: boolean }> {
  const { next } = await locked(trx)
  if (next) return { next, joined: true }
  const name = newGeneration()
  await trx.updateTable('search_index').set({ next: name }).execute()
  await markNextStale(trx)
  return { next: name, joined: false }
}

/** Makes the next generation the current one. False while it lacks a source, or if it is not the next any more. */
export async function switchTo(trx: Trx, next: string): Promise<boolean> {
  const live = await locked(trx)
  if (live.next !== next) return false
  const { rows } = await sql`select 1 from sources where next_stale limit 1`.execute(trx)
  if (rows.length > 0) return false
  await trx
    .updateTable('search_index')
    .set({ current: next, next: null, old: live.current, switched_at: sql<Date>`now()` })
    .execute()
  return true
}

/** Notes that the next generation lacks these versions. False if it is not the next: then they must be written. */
export async function noteNextLacks(trx: Trx, next: string, versions: string[]): Promise<boolean> {
  const live = await liveForWriting(trx)
  if (live.next !== next) return false
  await trx
    .updateTable('sources')
    .set({ next_stale: true })
    .where('id', 'in', (from) =>
      from.selectFrom('versions').select('source_id').where('id', 'in', versions),
    )
    .execute()
  return true
}

export async function forgetOld(db: Db, old: string) {
  await db.updateTable('search_index').set({ old: null }).where('old', '=', old).execute()
}

/** After this the next generation gets every source again. */
export async function markNextStale(db: Db) {
  await db
    .updateTable('sources')
    .set({ next_stale: true })
    .where('next_stale', '=', false)
    .execute()
}

const locked = (trx: Trx): Promise<Live> =>
  trx.selectFrom('search_index').select(COLUMNS).forUpdate().executeTakeFirstOrThrow()
