import type { Log } from '@guildhall/service/log'
import { Index, type Table } from '@lancedb/lancedb'
import { CELLS } from './lance-search.ts'

/** Vectors by which a cell of the vector index is found, and the most cells: all are searched, so more only cost time. */
const ROWS_OF_CELL = 64

/**
 * Makes the index of the vectors once there are `flatRows`. Where it cannot be made, searches go on comparing with every
 * vector, and the log says so once: it is tried again with the next upkeep, which must not fail for it.
 */
export function vectorIndexer(
  table: Table,
  { log, flatRows }: { log: Log; flatRows: number },
): () => Promise<void> {
  let failing = false
  return async () => {
    try {
      await indexVectors(table, flatRows)
      failing = false
    } catch (error) {
      if (!failing)
        log.error(
          { err: error, org: null }, // the index is that of all
          'The vectors cannot be indexed: searches by meaning find the same, but take longer the more passages there are',
        )
      failing = true
    }
  }
}

/**
 * RaBitQ (Gao and Long, SIGMOD 2024): a bit a dimension, from which the nearest are taken to be compared exactly. Made in
 * seconds, where a graph (HNSW) of 100 000 vectors takes most of a minute. New rows are folded in by `optimize`.
 */
async function indexVectors(table: Table, flatRows: number): Promise<void> {
  const indexed = (await table.listIndices()).some(({ columns }) => columns.includes('vector'))
  if (indexed) return
  const rows = await table.countRows('vector is not null')
  if (rows < flatRows) return
  const numPartitions = Math.max(1, Math.min(CELLS, Math.floor(rows / ROWS_OF_CELL)))
  const config = Index.ivfRq({ distanceType: 'cosine', numPartitions })
  await table.createIndex('vector', { config })
}
