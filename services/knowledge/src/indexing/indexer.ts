import type { Log } from '@guildhall/service/log'
import type { Db } from '../db.ts'
import type { Generations } from '../search/generations.ts'
import {
  currentVersion,
  forgetRemoved,
  indexRows,
  lackingVersion,
  makeCurrent,
  noteCopied,
  noteIndexed,
  removedVersions,
  unfinishedSources,
} from './queries.ts'
import type { SourceLock } from './source-lock.ts'

export interface IndexerOptions {
  db: Db
  index: Generations
  log: Log
  alone: SourceLock
}

export type Indexer = ReturnType<typeof createIndexer>

/**
 * Brings the index in line with the database, source by source. What is to be done stands in the database, so it can
 * fail or be cut off anywhere and be done again. Work on one source waits for each other: here by turns in memory,
 * between processes by `alone`.
 */
export function createIndexer({ db, index, log, alone }: IndexerOptions) {
  const taken = turns()
  const inTurn = <Result>(sourceId: string, work: () => Promise<Result>) =>
    taken(sourceId, () => alone(sourceId, work))
  let catchingUp = false
  let left = 0

  /** Indexes what is lacking. A version that was replaced on the way gives way to its successor. */
  async function write(sourceId: string): Promise<void> {
    const version = await lackingVersion(db, sourceId)
    if (!version) return
    await index.write(await indexRows(db, version))
    if (version.state === 'current') return noteIndexed(db, version)
    const done = await db.transaction().execute((trx) => makeCurrent(trx, version))
    if (!done) return write(sourceId)
  }

  /** Takes out what is gone. Searches do not show it anyway. */
  async function sweep(sourceId: string) {
    const removed = await removedVersions(db, sourceId)
    const [first] = removed
    if (!first) return
    const versions = removed.map(({ version_id }) => version_id)
    await index.remove(first.org_id, versions)
    await forgetRemoved(db, versions)
  }

  /** Once this resolves, searches find the source as it was last written. Throws where the index or database fails. */
  const settle = (sourceId: string) =>
    inTurn(sourceId, async () => {
      await write(sourceId)
      await sweep(sourceId).catch((error) =>
        log.warn({ err: error, source_id: sourceId }, 'Old passages stay in the index for now'),
      )
    })

  /** Writes the current version to the generation that a rebuild fills. Of a deleted source nothing is left to write. */
  const copy = (sourceId: string) =>
    inTurn(sourceId, async () => {
      const { next } = await index.look()
      if (!next) return
      const version = await currentVersion(db, sourceId)
      if (version) await (await index.opened(next)).write(await indexRows(db, version))
      await noteCopied(db, sourceId)
    })

  /** Settles every source that is not; one that fails does not stop the others and is tried at the next call. */
  async function settleAll(signal: AbortSignal) {
    const ids = await unfinishedSources(db)
    const failed: unknown[] = []
    left = ids.length
    for (const id of ids) {
      if (signal.aborted) break
      await settle(id).catch((error) => failed.push(error))
      left--
    }
    if (failed.length > 0) {
      const err = failed[0]
      log.error({ err, sources: failed.length }, 'Sources cannot be indexed; they are tried again')
    }
    return { sources: ids.length, failed: failed.length }
  }

  /** Finishes what the last process left; a new index lacks every current version. */
  async function catchUp(signal: AbortSignal) {
    catchingUp = true
    try {
      await settleAll(signal)
      if (!signal.aborted) await index.upkeep()
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, 'Cannot catch up with the index at the start')
    } finally {
      catchingUp = false
    }
  }

  return {
    settle,
    copy,
    settleAll,
    catchUp,
    /** Empty, or how many sources the catching up after the start still has before it. */
    async readiness() {
      return catchingUp ? `${left} sources are still to be indexed after the start` : undefined
    },
  }
}

/** Work under one name runs one after the other; a failure does not stop the next. */
function turns() {
  const last = new Map<string, Promise<unknown>>()
  return function inTurn<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const result = (last.get(name) ?? Promise.resolve()).then(work)
    const ended = result
      .catch(() => undefined)
      .then(() => {
        if (last.get(name) === ended) last.delete(name)
      })
    last.set(name, ended)
    return result
  }
}
