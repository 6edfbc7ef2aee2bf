import { posix } from 'node:path'
import type { FileEntry } from '@guildhall/contracts/pod-files'
import { AppError } from '@guildhall/service/errors'
import type { Stats } from 'ssh2'

/** What no officer deletes or moves by mistake (interface.md, Compute, file manager). */
export const PROTECTED = ['/', '/workspace', '/root', '/home']
/** Of the volume: the members' accounts and the host key (deploy/pod-image). */
export const REGISTER = '.compute'
/** NAME_MAX of Linux. */
const MOST_NAME_BYTES = 255
const PERMISSIONS = 0o7777

/** An absolute path without `.`, `..`, doubled and trailing slashes. */
export const normalised = (path: string) => posix.resolve(path)

/** Where an upload goes. Throws 400 for a name that is none. */
export function targetOf(folder: string, name: string): string {
  if (!/^\.{0,2}$/.test(name) && !/[/\0]/.test(name) && Buffer.byteLength(name) <= MOST_NAME_BYTES)
    return posix.join(normalised(folder), name)
  const message = `A file's name has 1 to ${MOST_NAME_BYTES} bytes and no /; rename it and send it again`
  throw new AppError('invalid', 'file.name', message)
}

/** True for a protected folder and for one that holds it; both are paths without links. */
export const isProtected = (path: string, folders: readonly string[]) =>
  folders.some((folder) => folder === path || folder.startsWith(path === '/' ? '/' : `${path}/`))

export function entryOf(name: string, stats: Stats): FileEntry {
  return {
    name,
    type: typeOf(stats),
    size: stats.size,
    modified: new Date(stats.mtime * 1000).toISOString(),
    permissions: (stats.mode & PERMISSIONS).toString(8).padStart(4, '0'),
  }
}

function typeOf(stats: Stats): FileEntry['type'] {
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'link' : 'file'
}

/** Folders first, then by name. */
export const inOrder = (one: FileEntry, other: FileEntry) =>
  Number(other.type === 'directory') - Number(one.type === 'directory') ||
  compare(one.name, other.name)

function compare(one: string, other: string) {
  if (one === other) return 0
  return one < other ? -1 : 1
}

/** Throws 400 for what is not a file with bytes of its own: a folder, a pipe, a device. */
export function checkFile(path: string, stats: Stats) {
  if (!stats.isFile()) throw notFile(path)
}

export const notFile = (path: string) =>
  new AppError('invalid', 'file.not_a_file', `${path} is no file that can be read or replaced`)

/** Bytes as text. Throws 400 for what is none. */
export function textOf(path: string, bytes: Uint8Array): string {
  const message = `${path} is not text in UTF-8; download it instead`
  const binary = new AppError('invalid', 'file.not_text', message)
  if (bytes.includes(0)) throw binary
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw binary
  }
}

export const tooLarge = (path: string, mostBytes: number) =>
  new AppError(
    'too_large',
    'file.too_large',
    `${path} is larger than ${mostBytes} bytes; use sftp or scp for it`,
  )

/** RFC 6266: the name for old clients in ASCII, and as it is. */
export function attachment(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`
}

/** One word of a shell's command, whatever is in it. */
export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
