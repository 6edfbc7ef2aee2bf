import { posix } from 'node:path'
import { Readable } from 'node:stream'
import {
  type FileEntry,
  MOST_ENTRIES,
  MOST_FILE_BYTES,
  MOST_TEXT_BYTES,
} from '@guildhall/contracts/pod-files'
import { AppError } from '@guildhall/service/errors'
import type { FileEntryWithStats, Stats } from 'ssh2'
import type { Remote } from '../clients/ssh.ts'
import type { Held } from './connections.ts'
import { codeOf } from './refusals.ts'
import { checkFile, entryOf, inOrder, textOf, tooLarge } from './rules.ts'
import { readAhead, readBlock } from './transfer.ts'

/** SFTP's word for the end of a folder or a file. */
const END = 1
/** Of a download, beside what SFTP has on the way: with less the pod waits for the client at each block. */
const READY_BYTES = 1024 * 1024

/** The entries of a folder, and whether there are more than are told. */
export async function entriesOf({ sftp, ask }: Remote, path: string) {
  const stats = await ask<Stats>((done) => sftp.stat(path, done))
  if (!stats.isDirectory()) throw notFolder(path)
  const handle = await ask<Buffer>((done) => sftp.opendir(path, done))
  const files: FileEntry[] = []
  try {
    while (files.length <= MOST_ENTRIES) {
      const some = await ask<FileEntryWithStats[]>((done) => sftp.readdir(handle, done)).catch(
        atEnd,
      )
      if (!some) break
      for (const { filename, attrs } of some)
        if (filename !== '.' && filename !== '..') files.push(entryOf(filename, attrs))
    }
  } finally {
    ask((done) => sftp.close(handle, done)).catch(() => {}) // the connection may be gone
  }
  const more = files.length > MOST_ENTRIES
  return { files: files.slice(0, MOST_ENTRIES).sort(inOrder), more }
}

function atEnd(error: unknown) {
  if (codeOf(error) === END) return undefined
  throw error
}

/** A file's text. Throws 413 past 1 MB, and 400 where it is no text. */
export async function readText(remote: Remote, path: string): Promise<string> {
  const handle = await openFile(remote, path)
  try {
    const bytes = await readBlock(remote, handle, { at: 0, length: MOST_TEXT_BYTES + 1 })
    if (bytes.length > MOST_TEXT_BYTES) throw tooLarge(path, MOST_TEXT_BYTES)
    return textOf(path, bytes)
  } finally {
    remote.ask((done) => remote.sftp.close(handle, done)).catch(() => {}) // the connection may be gone
  }
}

/** A file to be sent, and its size as it was opened; the connection is held until the stream is closed. */
export async function openDownload({ remote, release }: Held, path: string) {
  const { sftp, ask } = remote
  const handle = await openFile(remote, path)
  const close = () => ask((done) => sftp.close(handle, done)).catch(() => {}) // the connection may be gone
  try {
    const { size } = await ask<Stats>((done) => sftp.fstat(handle, done))
    if (size > MOST_FILE_BYTES) throw tooLarge(path, MOST_FILE_BYTES)
    const stream = Readable.from(readAhead(remote, handle, size), {
      objectMode: false,
      highWaterMark: READY_BYTES,
    })
    stream.once('close', () => void close().finally(release))
    return { stream, size, name: posix.basename(path) }
  } catch (error) {
    await close()
    throw error
  }
}

/** Looked at first: to open a pipe is to wait for whoever writes to it. */
async function openFile({ sftp, ask }: Remote, path: string): Promise<Buffer> {
  checkFile(path, await ask<Stats>((done) => sftp.stat(path, done)))
  return ask<Buffer>((done) => sftp.open(path, 'r', done))
}

const notFolder = (path: string) =>
  new AppError('invalid', 'file.not_a_folder', `${path} is no folder; name the one that it is in`)
