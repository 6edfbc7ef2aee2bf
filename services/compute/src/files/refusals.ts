import { AppError } from '@guildhall/service/errors'

/** Status codes of SFTP (draft-ietf-secsh-filexfer-02 § 7). */
export const NO_SUCH_FILE = 2
const PERMISSION_DENIED = 3
/** Anything else that the system refuses: it exists, it is full, it is read-only. */
const FAILURE = 4
const BAD_MESSAGE = 5

export const codeOf = (error: unknown) => (error as { code?: unknown } | undefined)?.code

/** What an officer is told of an error of SFTP; anything that is none means that the connection broke. */
export function refusal(error: unknown, path: string): Error {
  if (error instanceof AppError || isOfRequest(error)) return error
  switch (codeOf(error)) {
    case NO_SUCH_FILE:
      return new AppError('not_found', 'file.not_found', `There is no ${path} on the pod`)
    case PERMISSION_DENIED:
      return forbidden(path)
    case FAILURE:
      return failed(path, 'the disk may be full or read-only')
    case BAD_MESSAGE:
      return new AppError('invalid', 'file.path', `The pod takes no such path: ${path}`)
    default:
      return new AppError(
        'upstream',
        'pod.ssh_failed',
        'The connection to the pod broke off; see whether the pod still runs, and try again',
        { cause: error },
      )
  }
}

/** What Fastify says of an upload that breaks off or a limit. */
const isOfRequest = (error: unknown): error is Error => /^FST_/.test(String(codeOf(error)))

/** What an officer is told of a command that failed. */
export function refusedCommand(path: string, stderr: string): Error {
  if (/File name too long/.test(stderr)) return refusal({ code: BAD_MESSAGE }, path)
  if (/cross-device/.test(stderr))
    return failed(path, 'it would move to another disk and another owner; copy it in a shell')
  if (/No such file or directory/.test(stderr)) return refusal({ code: NO_SUCH_FILE }, path)
  if (/Permission denied|Operation not permitted|Read-only file system/.test(stderr))
    return forbidden(path)
  return failed(path, stderr.split('\n')[0] || 'it was changed meanwhile')
}

const forbidden = (path: string) =>
  new AppError(
    'forbidden',
    'file.forbidden',
    `The pod does not permit this for ${path}. Changes have the rights of the folder's owner; see its permissions.`,
  )

const failed = (path: string, reason: string) =>
  new AppError('conflict', 'file.refused', `The pod refuses this for ${path}: ${reason}`)

export const exists = (path: string) =>
  new AppError(
    'conflict',
    'file.exists',
    `${path} is there already; delete it first, or take another name`,
  )
