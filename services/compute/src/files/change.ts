import { posix } from 'node:path'
import { AppError } from '@guildhall/service/errors'
import type { Remote } from '../clients/ssh.ts'
import { inFolder } from './in-folder.ts'
import { isProtected, PROTECTED, REGISTER } from './rules.ts'

const [folderOf, nameOf] = [posix.dirname, posix.basename]

/** Makes a folder in one that is there. */
export const makeDirectory = (remote: Remote, path: string) =>
  inFolder(remote, { script: 'make', folders: [folderOf(path)], names: [nameOf(path)], path })

/** Moves what is at a path, a link as a link, and replaces nothing. */
export function move(remote: Remote, from: string, to: string) {
  const folders: [string, string] = [folderOf(from), folderOf(to)]
  return inFolder(remote, {
    script: 'move',
    folders,
    names: [nameOf(from), nameOf(to)],
    path: from,
  })
}

/** Deletes a file, a link itself, or a folder with its contents. */
export const remove = (remote: Remote, path: string) =>
  inFolder(remote, {
    script: 'delete',
    folders: [folderOf(path)],
    names: [nameOf(path)],
    asRoot: true,
    path,
  })

/** Throws 400 for a path that is, or holds, what is never moved or deleted, links resolved. */
export async function checkKept({ sftp, ask }: Remote, path: string, mount: string) {
  const folders = [...PROTECTED, mount, posix.join(mount, REGISTER)]
  const real = (one: string) => ask<string>((done) => sftp.realpath(one, done)).catch(() => one)
  const parent = await real(folderOf(path))
  const found = await Promise.all(folders.map(real))
  const named = [path, posix.join(parent, nameOf(path))]
  if (named.some((one) => isProtected(one, [...folders, ...found]))) throw isKept(path)
}

/** Throws 400 for what the pod keeps of its members' accounts and its host key. */
export function checkNotRegister(path: string, mount: string) {
  const register = posix.join(mount, REGISTER)
  if (path === register || path.startsWith(`${register}/`)) throw isKept(path)
}

const isKept = (path: string) =>
  new AppError(
    'invalid',
    'file.protected',
    `${path} is or holds one of ${PROTECTED.join(', ')}, the volume or its ${REGISTER}, which are never moved or deleted; choose something inside it`,
  )
