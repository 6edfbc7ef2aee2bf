import { hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { link, lstat, open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { extract, type Pack, pack } from 'tar-stream'
import { UsageError } from './context.ts'

/** The last entry: the checksum of each other one, as `sha256sum -c` reads it. */
const SUMS = 'SHA256SUMS'
/** Entries are held in memory one at a time; what writes an archive cuts longer content into several. */
export const MOST_ENTRY_BYTES = 16 * 1024 * 1024

/** Adds an entry to the archive that is being written. */
export type AddEntry = (name: string, content: Buffer) => Promise<void>

/**
 * Writes a .tar.gz that ends with the checksums of its entries, readable by its owner alone. It gets its name when it
 * is whole and on the disk: a fault leaves nothing, a kill at most `<file>.<id>.new`. Throws where `file` is there, also
 * where it came meanwhile: of several that write to one name, the first to end has it.
 */
export async function writeArchive(file: string, work: (add: AddEntry) => Promise<void>) {
  await checkFree(file)
  const aside = `${file}.${newId()}.new`
  const handle = await openNew(aside, file)
  const tar = pack()
  const filling = fill(tar, work).catch((error: Error) => tar.destroy(error))
  try {
    await pipeline(tar, createGzip(), handle.createWriteStream({ flush: true }))
    await putInPlace(aside, file)
  } finally {
    await filling
    await rm(aside, { force: true })
  }
  await syncFolder(dirname(resolve(file)))
}

async function checkFree(file: string) {
  if (await lstat(file).catch(() => undefined)) throw taken(file)
}

const taken = (file: string) => new UsageError(`${file} is there already: name a new file`)

async function openNew(aside: string, file: string) {
  try {
    return await open(aside, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new UsageError(`${file} cannot be written: its folder is not there`)
  }
}

/** What file systems without hard links answer: FAT, and some shares. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Gives the file its name, which `link`, unlike `rename`, takes from nobody. */
async function putInPlace(aside: string, file: string) {
  try {
    await link(aside, file)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw taken(file)
    if (!NO_LINKS.includes(code)) throw error
    await checkFree(file)
    await rename(aside, file)
  }
}

async function fill(tar: Pack, work: (add: AddEntry) => Promise<void>) {
  const sums: string[] = []
  const put = (name: string, content: Buffer) =>
    new Promise<void>((done, failed) => {
      tar.entry({ name, mode: 0o600 }, content, (error) => (error ? failed(error) : done()))
    })
  await work(async (name, content) => {
    sums.push(`${hash('sha256', content)}  ${name}\n`)
    await put(name, content)
  })
  await put(SUMS, Buffer.from(sums.join('')))
  tar.finalize()
}

/** A name is kept over a power cut once its folder is on the disk. */
async function syncFolder(folder: string) {
  await using handle = await open(folder)
  await handle.sync()
}

/**
 * Calls `entry` with each entry in turn, then throws unless the checksums stand at the end and fit. What `entry`
 * does must therefore not count before this returns.
 */
export async function readArchive(
  file: string,
  entry: (name: string, content: Buffer) => Promise<void>,
) {
  const sums: string[] = []
  let given: string | undefined
  for await (const { name, content } of entriesOf(file)) {
    if (given !== undefined) throw damaged(file, 'something follows its checksums')
    if (name === SUMS) {
      given = content.toString()
      continue
    }
    sums.push(`${hash('sha256', content)}  ${name}\n`)
    await entry(name, content)
  }
  if (given === undefined) throw damaged(file, 'its end is missing')
  if (given !== sums.join('')) throw damaged(file, 'its checksums do not fit')
}

async function* entriesOf(file: string) {
  const tar = extract()
  const unpacking = pipeline(createReadStream(file), createGunzip(), tar)
  unpacking.catch(() => {}) // the loop ends with it too
  try {
    for await (const one of tar) {
      const { name, size = 0 } = one.header
      if (size > MOST_ENTRY_BYTES) throw new Error(`${name} is too long`)
      yield { name, content: await buffer(one) }
    }
    await unpacking
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (['ENOENT', 'EACCES', 'EISDIR'].includes(code ?? ''))
      throw new UsageError(`${file} cannot be read: ${message}`)
    throw damaged(file, message, error)
  }
}

function damaged(file: string, why: string, cause?: unknown) {
  const message = `${file} is no whole backup: ${why}. Use another copy of it, or an earlier backup; nothing was restored`
  return new AppError('invalid', 'backup.damaged', message, { cause })
}
