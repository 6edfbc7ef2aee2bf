import { AppError } from '@guildhall/service/errors'
import type { Stats } from 'ssh2'
import type { Remote } from '../clients/ssh.ts'
import { codeOf, FAILURE, NO_SUCH_FILE } from './refusals.ts'
import { checkFile, PART } from './rules.ts'
import { writeAll } from './transfer.ts'

/** A part that nobody has written to for so long was left by a process that ended. */
const LEFT_MS = 600_000
const PERMISSIONS = 0o7777

/**
 * Puts these bytes in the place of a file, and nothing of them where anything fails: they are written to
 * `<name>.part` first. The owner and the permissions of the file stay; a link is followed. Where somebody
 * on the pod swaps a folder of the path meanwhile, the file may come to lie where the path leads now, whole, or
 * the request fails and the part stays behind: SFTP names files by path alone.
 */
export async function save(
  remote: Remote,
  path: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const { sftp, ask } = remote
  const before = await statOrNothing(remote, path)
  if (before) checkFile(path, before)
  const target = before ? await ask<string>((done) => sftp.realpath(path, done)) : path
  const part = target + PART
  const handle = await openPart(remote, part)
  try {
    const size = await writeAll(remote, handle, bytes)
    if (before) await ask((done) => sftp.fsetstat(handle, ownerOf(before), done))
    await ask((done) => sftp.close(handle, done))
    await ask((done) => sftp.ext_openssh_rename(part, target, done))
    return size
  } catch (error) {
    await ask((done) => sftp.close(handle, done)).catch(() => {}) // it may be closed, or the pod gone
    await ask((done) => sftp.unlink(part, done)).catch(() => {})
    throw error
  }
}

/** The part, as ours alone: `x` fails where one is there, also as a link. */
async function openPart({ sftp, ask }: Remote, part: string): Promise<Buffer> {
  const open = () => ask<Buffer>((done) => sftp.open(part, 'wx', done))
  try {
    return await open()
  } catch (error) {
    if (codeOf(error) !== FAILURE) throw error
    const left = await ask<Stats>((done) => sftp.lstat(part, done)).catch(() => undefined)
    if (!left) throw error
    if (Date.now() - left.mtime * 1000 < LEFT_MS) throw beingWritten(part)
    await ask((done) => sftp.unlink(part, done))
    return await open()
  }
}

const ownerOf = ({ uid, gid, mode }: Stats) => ({ uid, gid, mode: mode & PERMISSIONS })

/** What a path leads to, if it leads to anything. */
export async function statOrNothing(
  { sftp, ask }: Remote,
  path: string,
): Promise<Stats | undefined> {
  try {
    return await ask<Stats>((done) => sftp.stat(path, done))
  } catch (error) {
    if (codeOf(error) === NO_SUCH_FILE) return undefined
    throw error
  }
}

const beingWritten = (part: string) =>
  new AppError(
    'conflict',
    'file.being_written',
    `Somebody is sending this file at the moment. If nobody is, delete ${part}; after ten minutes it no longer counts.`,
  )
