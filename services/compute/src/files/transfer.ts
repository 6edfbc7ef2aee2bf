import type { Remote } from '../clients/ssh.ts'

/** How much is on the way at once: enough for a megabyte per millisecond of the way. */
const BLOCK_BYTES = 128 * 1024
const BLOCKS_AHEAD = 16

/** The bytes of an open file from its start. Throws where there are fewer than `size`. */
export async function* readAhead(
  remote: Remote,
  handle: Buffer,
  size: number,
): AsyncGenerator<Buffer> {
  const ahead: Promise<Buffer>[] = []
  let asked = 0
  for (let sent = 0; sent < size; ) {
    while (asked < size && ahead.length < BLOCKS_AHEAD) {
      const length = Math.min(BLOCK_BYTES, size - asked)
      ahead.push(watched(readBlock(remote, handle, { at: asked, length })))
      asked += length
    }
    const block = await ahead.shift()
    if (!block?.length) throw new Error('The file became shorter while it was read')
    sent += block.length
    yield block
  }
}

/** `length` bytes, or fewer at the end of the file. */
export async function readBlock(
  { sftp, ask }: Remote,
  handle: Buffer,
  { at, length }: { at: number; length: number },
): Promise<Buffer> {
  const block = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const wanted = length - filled
    const read = await ask<number>((done) =>
      sftp.read(handle, block, filled, wanted, at + filled, done),
    )
    if (!read) break
    filled += read
  }
  return block.subarray(0, filled)
}

/** Whoever waits is told; until somebody does, a failure is no unhandled one. */
function watched<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {})
  return work
}
