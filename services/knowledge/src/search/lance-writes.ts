import type { Table } from '@lancedb/lancedb'
import { type IndexRow, storable } from './index.ts'
import { assertLengths, rowBatch } from './lance-rows.ts'
import { quoted } from './lance-search.ts'

/** Rows of one commit: 1024 floats each, so 4 MB. */
const BATCH_ROWS = 1000

/** Rows that wait for one turn. */
interface Group {
  rows: Map<string, IndexRow>
  written: Promise<void>
}

/**
 * Writes of several callers that wait for their turn go together, for a commit takes some 20 ms, however little it holds.
 * `change` runs work in its turn.
 */
export function joinedWrites(
  table: Table,
  change: (work: () => Promise<unknown>) => Promise<unknown>,
) {
  let waiting: Group | undefined

  function open(rows: Group['rows']): Group {
    const written = change(async () => {
      if (waiting?.rows === rows) waiting = undefined
      await upsert(table, [...rows.values()])
    })
    return { rows, written: written.then(() => {}) }
  }

  return {
    /** Resolves once the rows are found. Of two with one id the later stays. */
    add(rows: readonly IndexRow[]): Promise<void> {
      assertLengths(rows)
      if (!waiting || waiting.rows.size + rows.length > BATCH_ROWS) waiting = open(new Map())
      for (const row of rows) waiting.rows.set(row.id, storable(row))
      return waiting.written
    },
    /** Later writes keep behind what is asked for now. */
    part() {
      waiting = undefined
    },
  }
}

/**
 * Rows that are all new, the usual case, are appended: to look for them first and append takes half as long as to merge, and
 * does not slow down with every commit that is still to be folded in. Nobody else writes meanwhile.
 */
async function upsert(table: Table, rows: readonly IndexRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += BATCH_ROWS) {
    const some = rows.slice(at, at + BATCH_ROWS)
    const batch = rowBatch(some)
    const there = await table.countRows(`id in (${some.map(({ id }) => quoted(id)).join(', ')})`)
    if (there === 0) await table.add(batch)
    else
      await table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(batch)
  }
}
