import { posix } from 'node:path'
import type { Remote } from '../clients/ssh.ts'
import { inFolder } from './in-folder.ts'

/** A block is one process on the pod: larger ones are faster, smaller ones hold less in memory. */
const BLOCK_BYTES = 1024 * 1024

/**
 * Puts these bytes in the place of a file and answers how many; nothing of them where anything fails. The
 * permissions of the file stay, and in root's folders its owner; in a member's folder it becomes the member's.
 */
export async function save(
  remote: Remote,
  path: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  let size = 0
  async function* input() {
    for await (const block of inBlocks(bytes)) {
      size += block.length
      yield Buffer.from(`${block.length}\n`)
      yield block
    }
    yield Buffer.from('end\n')
  }
  const names = [posix.basename(path)]
  const folders: [string] = [posix.dirname(path)]
  await inFolder(remote, { script: 'save', folders, names, input: input(), path })
  return size
}

async function* inBlocks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of bytes) {
    pieces.push(piece)
    length += piece.length
    if (length < BLOCK_BYTES) continue
    yield Buffer.concat(pieces)
    pieces = []
    length = 0
  }
  if (length > 0) yield Buffer.concat(pieces)
}
