import type { Log } from '@guildhall/service/log'
import { sql } from 'kysely'
import type { Db } from '../db.ts'
import { markAllStale } from '../indexing/queries.ts'
import type { Engine } from './engine.ts'
import {
  forgetNext,
  type Live,
  liveForWriting,
  liveNow,
  liveOf,
  markNextStale,
  noteNextLacks,
  replaceCurrent,
} from './generation-queries.ts'
import { type IndexRow, LAYOUT, type PassageIndex } from './index.ts'

/** A process notices so late that another has switched. */
const NOTICE_MS = 2_000
/** Until all have noticed, with a margin for clocks that differ. */
const WRITE_OLD_MS = NOTICE_MS + 8_000
/** Until the last search and write of the old generation are over: longer than a request to the servers may take. */
export const KEEP_OLD_MS = WRITE_OLD_MS + 60_000

export interface GenerationsOptions {
  db: Db
  engine: Engine
  log: Log
}

/** The generations of the index as one: searches read the current one, changes go to all. */
export type Generations = Awaited<ReturnType<typeof openGenerations>>

/** Opens the index that the database names, or a new one. Every current version is then to be indexed again. */
export async function openGenerations({ db, engine, log }: GenerationsOptions) {
  const opened = openedOnce(db, engine)
  let live = await byOneProcess(db, () => openCurrent({ db, engine, log }, opened))
  let seenAt = performance.now()

  /** What holds now, by the database; generations that are gone are closed. */
  async function look(read: (db: Db) => Promise<Live> = liveNow): Promise<Live> {
    live = await read(db)
    seenAt = performance.now()
    opened.keepOnly(namesOf(live), log)
    return live
  }

  /** Once more where the generation was switched meanwhile, and on the next one where this is of another layout. */
  async function search<Found>(work: (index: PassageIndex) => Promise<Found>): Promise<Found> {
    const aged = engine.shared && performance.now() - seenAt > NOTICE_MS
    const { current } = aged ? await look() : live
    try {
      return await work(await opened.get(current))
    } catch (error) {
      const now = await look()
      const other = now.current === current ? isForeign(current) && now.next : now.current
      if (!other) throw error
      return await work(await opened.get(other))
    }
  }

  /** The failure of one that searches do not need is noted, not thrown. */
  async function writeAside(name: string, rows: readonly IndexRow[], { next }: Live) {
    try {
      await (await opened.get(name)).write(rows)
    } catch (error) {
      log.warn(
        { err: error, generation: name },
        'A search index that is not the current one cannot be written',
      )
      if (name !== next) return
      const versions = [...new Set(rows.map(({ version }) => version))]
      const noted = await db.transaction().execute((trx) => noteNextLacks(trx, name, versions))
      if (!noted) throw error // it has become the current one
    }
  }

  return {
    look,
    /** The generation by its name, opened once. */
    opened: opened.get,
    /** Closes a generation that searches have left. */
    shut: opened.shut,
    engine,
    async write(rows: readonly IndexRow[]) {
      if (rows.length === 0) return
      const now = await look(liveForWriting)
      const needed = neededOf(now)
      await (await opened.get(needed)).write(rows)
      for (const name of writtenOf(now, engine))
        if (name !== needed) await writeAside(name, rows, now)
    },
    async remove(org: number, versions: readonly string[]) {
      const now = await look(liveForWriting)
      for (const name of writtenOf(now, engine)) {
        const removing = opened.get(name).then((index) => index.remove(org, versions))
        if (name === now.old || isForeign(name))
          await removing.catch((err) => log.warn({ err }, 'Passages stay in an old search index'))
        else await removing
      }
    },
    searchText: (query: Parameters<PassageIndex['searchText']>[0]) =>
      search((index) => index.searchText(query)),
    searchVector: (query: Parameters<PassageIndex['searchVector']>[0]) =>
      search((index) => index.searchVector(query)),
    upkeep: async () => (await opened.get(neededOf(live))).upkeep(),
    close: () => opened.shutAll(),
  }
}

const namesOf = ({ current, next, old }: Live) =>
  [current, next, old].filter((name) => name !== null)
/**
 * An old generation is written as long as another process may not have noticed the switch. Never longer: a write that
 * comes after it was dropped would make it again. This process has noticed as soon as it writes.
 */
function writtenOf({ current, next, old, switched_at }: Live, { shared }: Engine) {
  const recent = shared && switched_at !== null && Date.now() - switched_at.getTime() < WRITE_OLD_MS
  return [current, next, recent ? old : null].filter((name) => name !== null)
}
const isForeign = (name: string) => !name.startsWith(`${LAYOUT}-`)
/** What must be written: of another layout the current one may not take our rows. */
const neededOf = ({ current, next }: Live) => (isForeign(current) ? (next ?? current) : current)

/** Opens the current generation. One that is empty, lost or unreadable in another layout gets everything again. */
async function openCurrent(
  { db, engine, log }: GenerationsOptions,
  opened: ReturnType<typeof openedOnce>,
): Promise<Live> {
  let live = await liveOf(db, engine.name)
  if (live.next && isForeign(live.next)) {
    await forgetNext(db)
    live = { ...live, next: null }
  }
  try {
    const { created } = await opened.get(live.current)
    // a folder that was lost is not an index of another layout
    if (created && isForeign(live.current)) live = await replaceCurrent(db)
    if (created) await markAllStale(db)
  } catch (error) {
    if (!isForeign(live.current)) throw error
    log.warn({ err: error }, 'The search index of an older program cannot be read; it is made anew')
    live = await replaceCurrent(db)
    await markAllStale(db)
  }
  await opened.get(live.current)
  await engine.tidy(namesOf(live))
  return live
}

/** True where the index is to be made again in our layout. */
export const isOutdated = ({ current }: Live) => isForeign(current)

/** Each generation is opened once in a process. A new next one lacks every source. */
function openedOnce(db: Db, engine: Engine) {
  const all = new Map<string, Promise<PassageIndex>>()
  async function open(name: string) {
    const index = await engine.open(name)
    if (index.created && (await isNext(db, name))) await markNextStale(db)
    return index
  }
  const get = (name: string) => {
    const there = all.get(name)
    if (there) return there
    const opening = open(name)
    all.set(name, opening)
    opening.catch(() => all.delete(name))
    return opening
  }
  const shut = async (name: string) => {
    const index = all.get(name)
    all.delete(name)
    await index?.then((one) => one.close())
  }
  const keepOnly = (names: readonly string[], log: Log) => {
    for (const name of all.keys())
      if (!names.includes(name))
        shut(name).catch((err) => log.warn({ err }, 'An old search index does not close'))
  }
  const shutAll = async () => {
    await Promise.allSettled([...all.keys()].map(shut))
  }
  return { get, shut, keepOnly, shutAll }
}

async function isNext(db: Db, name: string) {
  const row = await db.selectFrom('search_index').select('next').executeTakeFirst()
  return row?.next === name
}

/** Of processes that start at once, one after the other looks whether the index is new. */
async function byOneProcess<Result>(db: Db, work: () => Promise<Result>): Promise<Result> {
  const lock = sql`hashtext('guildhall'), hashtext('knowledge-generation')`
  return db.connection().execute(async (held) => {
    await sql`select pg_advisory_lock(${lock})`.execute(held)
    try {
      return await work()
    } finally {
      await sql`select pg_advisory_unlock(${lock})`.execute(held)
    }
  })
}
