import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import { type Connection, connect, Index, type Table } from '@lancedb/lancedb'
import { orgId, type PassageIndex } from './index.ts'
import { ROW_SCHEMA } from './lance-rows.ts'
import { quoted, searchText, searchVector } from './lance-search.ts'
import { vectorIndexer } from './lance-vectors.ts'
import { joinedWrites } from './lance-writes.ts'

const TABLE = 'passages'
/** Up to here comparing with every vector takes less than 10 ms (docs/performance.md). */
const FLAT_ROWS = 5_000
/** Files of older states are kept this long for searches that still read them. */
const KEEP_OLD_STATES_MS = 10 * 60_000
/** Folding new rows into the indexes takes at most one part in ten of the writer's time. */
const FOLD_PAUSE_FACTOR = 9
/** After one that failed, so that neither writers nor the log suffer from the next. */
const FAILED_PAUSE_MS = 60_000

/** Hashes and keys are found too; LanceDB's own 40 leaves out a SHA-256 in hex. */
const LONGEST_WORD = 256

/** Functions, because LanceDB takes each Index object once only. */
const stemmed = () =>
  Index.fts({
    language: 'English',
    stem: true,
    removeStopWords: false, // with ICU, LanceDB drops those of all languages: `dog` is Danish for `however`
    asciiFolding: true,
    maxTokenLength: LONGEST_WORD,
    withPosition: true,
    baseTokenizer: 'icu/split', // finds the words of Chinese and Japanese, and `node` in `node.js`
  })
const spelled = () =>
  Index.fts({
    stem: false,
    removeStopWords: false,
    asciiFolding: true,
    maxTokenLength: LONGEST_WORD,
    withPosition: false,
    baseTokenizer: 'icu/split',
  })

/** How the embedded index is opened. One process at a time may have a folder open: its owner holds a lock. */
export interface EmbeddedOptions {
  dir: string
  log: Log
  /** For tests: rows from which vectors are indexed. */
  flatRows?: number
}

/**
 * The index in a folder of this machine, on LanceDB. A missing folder is made (`created`).
 * Changes run one after the other, because LanceDB's own conflict with each other; searches run beside them.
 */
export async function openEmbedded({
  dir,
  log,
  flatRows = FLAT_ROWS,
}: EmbeddedOptions): Promise<PassageIndex> {
  const { connection, table, created } = await readable(dir, () => openTable(dir))
  const changes = writer()
  const folding = folder(table, { changes, log, flatRows })
  const searches = new Set<Promise<unknown>>()
  let closed = false

  const assertOpen = () => {
    if (closed)
      throw new AppError('unavailable', 'search_index.closed', 'The search index is closed')
  }
  /** Callers are told no path and no advice of the operator: that is the cause, for the log. */
  const whileRunning = <Result>(work: () => Promise<Result>) =>
    readable(dir, work).catch((error) => {
      if (error.code !== 'search_index.unreadable') throw error
      throw new AppError(
        'unavailable',
        'search_index.unreadable',
        'The search index cannot be used at the moment; the log of knowledge says why',
        { cause: error },
      )
    })
  const change = (work: () => Promise<unknown>) => {
    assertOpen()
    return changes.run(() => whileRunning(work))
  }
  const writes = joinedWrites(table, change)
  const search = async <Found>(work: () => Promise<Found>): Promise<Found> => {
    assertOpen()
    const running = whileRunning(work)
    searches.add(running)
    return running.finally(() => searches.delete(running))
  }

  return {
    created,
    async write(rows) {
      if (rows.length === 0) return
      await writes.add(rows)
      folding.soon()
    },
    async remove(org, versions) {
      if (versions.length === 0) return
      const listed = versions.map(quoted).join(', ')
      writes.part()
      await change(() => table.delete(`org = ${orgId(org)} and version in (${listed})`))
    },
    searchText: (query) => search(() => searchText(table, query)),
    searchVector: (query) => search(() => searchVector(table, query)),
    async upkeep() {
      await change(folding.now)
    },
    async close() {
      if (closed) return
      closed = true
      folding.stop()
      await changes.idle()
      await Promise.allSettled(searches)
      table.close()
      connection.close()
    },
  }
}

/** Runs work one after the other; a failure is the caller's and does not stop the next. */
function writer() {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run<Result>(work: () => Promise<Result>): Promise<Result> {
      const result = last.then(work)
      last = result.catch(() => undefined)
      return result
    },
    idle: () => last,
  }
}

/** Folds written rows into the indexes and drops old files: soon after a write, but not so often that writers wait for it. */
function folder(
  table: Table,
  { changes, log, flatRows }: { changes: ReturnType<typeof writer>; log: Log; flatRows: number },
) {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let nextAt = 0
  const indexVectors = vectorIndexer(table, { log, flatRows })
  const now = async () => {
    const started = performance.now()
    let least = FAILED_PAUSE_MS
    try {
      await table.optimize({ cleanupOlderThan: new Date(Date.now() - KEEP_OLD_STATES_MS) })
      await indexVectors()
      least = 0
    } finally {
      const ended = performance.now()
      nextAt = ended + Math.max(least, FOLD_PAUSE_FACTOR * (ended - started))
    }
  }
  const fire = () => {
    timer = undefined
    changes
      .run(now)
      .catch((error: unknown) => log.error({ err: error, org: null }, 'search index upkeep failed'))
  }
  const soon = () => {
    if (timer || stopped) return
    timer = setTimeout(fire, Math.max(0, nextAt - performance.now()))
    timer.unref()
  }
  const stop = () => {
    stopped = true
    clearTimeout(timer)
  }
  return { now, soon, stop }
}

async function readable<Result>(dir: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new AppError(
      'unavailable',
      'search_index.unreadable',
      `The search index in ${dir} cannot be read or written. Nothing is lost: stop the service, delete that folder and start again, and the index is rebuilt from the database.`,
      { cause },
    )
  }
}

async function openTable(
  dir: string,
): Promise<{ connection: Connection; table: Table; created: boolean }> {
  const connection = await connect(dir)
  if ((await connection.tableNames()).includes(TABLE)) {
    const table = await connection.openTable(TABLE)
    const rows = await table.countRows() // reads the manifest, so damage shows at start
    await table.query().limit(1).toArray()
    return { connection, table, created: rows === 0 }
  }
  const table = await connection.createEmptyTable(TABLE, ROW_SCHEMA)
  await table.createIndex('text', { config: stemmed() })
  await table.createIndex('words', { config: spelled() })
  // each column that a search filters by: one without an index is read for every row
  for (const column of ['org', 'public', 'model']) {
    await table.createIndex(column, { config: Index.bitmap() })
  }
  await table.createIndex('version', { config: Index.btree() })
  await table.createIndex('id', { config: Index.btree() })
  return { connection, table, created: true }
}
