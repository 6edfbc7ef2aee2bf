/** Cuts rows into batches of at most so many rows and bytes of JSON; a row that is larger by itself is alone. */
export function* batchesOf<Row>(
  rows: readonly Row[],
  most: { rows: number; bytes: number },
): Generator<Row[]> {
  let batch: Row[] = []
  let bytes = 0
  for (const row of rows) {
    const size = Buffer.byteLength(JSON.stringify(row))
    if (batch.length > 0 && (batch.length === most.rows || bytes + size > most.bytes)) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(row)
    bytes += size
  }
  if (batch.length > 0) yield batch
}
