import { posix } from 'node:path'
import { AppError } from '@guildhall/service/errors'
import type { Stats } from 'ssh2'
import type { Remote } from '../clients/ssh.ts'
import { codeOf, exists, FAILURE, refusedCommand } from './refusals.ts'
import { isProtected, PROTECTED, quoted } from './rules.ts'

/** Makes a folder in one that is there. */
export async function makeDirectory(remote: Remote, path: string) {
  const { sftp, ask } = remote
  try {
    await ask((done) => sftp.mkdir(path, done))
  } catch (error) {
    if (codeOf(error) === FAILURE && (await lstatOrNothing(remote, path))) throw exists(path)
    throw error
  }
}

/** Moves what is at a path; SFTP does it within a disk, and `mv` from one disk to another. */
export async function move(remote: Remote, from: string, to: string) {
  const { sftp, ask, run } = remote
  try {
    return await ask((done) => sftp.rename(from, to, done))
  } catch (error) {
    if (codeOf(error) !== FAILURE) throw error
    if (await lstatOrNothing(remote, to)) throw exists(to)
  }
  const { code, stderr } = await run(
    `LC_ALL=C mv --no-clobber --no-target-directory -- ${quoted(from)} ${quoted(to)}`,
  )
  if (code !== 0) throw refusedCommand(from, stderr)
  if (await lstatOrNothing(remote, from)) throw exists(to)
}

/**
 * Deletes a file, a link itself, or a folder with its contents. `rm` walks by open folders and follows no
 * link, also none that somebody puts in its way; it begins in the very folder that was looked at here.
 */
export async function remove(remote: Remote, path: string, mount: string) {
  const { sftp, ask, run } = remote
  const real = (one: string) => ask<string>((done) => sftp.realpath(one, done))
  const folders = [...PROTECTED, mount]
  if (isProtected(path, folders)) throw isKept(path)
  await ask<Stats>((done) => sftp.lstat(path, done))
  const parent = await real(posix.dirname(path))
  const target = posix.join(parent, posix.basename(path))
  const found = await Promise.all(folders.map((one) => real(one).catch(() => one)))
  const leadsTo = await real(path).catch(() => target) // a link may lead nowhere
  if ([target, leadsTo].some((one) => isProtected(one, [...folders, ...found]))) throw isKept(path)
  const name = quoted(`./${posix.basename(path)}`)
  const { code, stderr } = await run(
    `LC_ALL=C; export LC_ALL; cd -- ${quoted(parent)} && [ "$(pwd -P)" = ${quoted(parent)} ] && rm -rf -- ${name}`,
  )
  if (code !== 0) throw refusedCommand(path, stderr)
}

const lstatOrNothing = ({ sftp, ask }: Remote, path: string) =>
  ask<Stats>((done) => sftp.lstat(path, done)).catch(() => undefined)

const isKept = (path: string) =>
  new AppError(
    'invalid',
    'file.protected',
    `${path} is, holds or leads to one of ${PROTECTED.join(', ')} or the volume, which are never deleted; delete what is in it`,
  )
