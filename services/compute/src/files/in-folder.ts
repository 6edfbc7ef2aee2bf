import { readFileSync } from 'node:fs'
import { AppError } from '@guildhall/service/errors'
import type { Remote } from '../clients/ssh.ts'
import { exists, NO_SUCH_FILE, refusal, refusedCommand } from './refusals.ts'
import { notFile, quoted } from './rules.ts'

const text = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
const ENTER = text('enter.sh')
const SCRIPTS = {
  delete: text('delete.sh'),
  make: text('make.sh'),
  move: text('move.sh'),
  save: text('save.sh'),
}

interface Change {
  script: keyof typeof SCRIPTS
  /** Absolute, as `normalised` leaves them; the change is made in the first. */
  folders: [string] | [string, string]
  names: string[]
  /** As root, for scripts that follow no link; else with the rights of the folder's owner. */
  asRoot?: boolean
  input?: AsyncIterable<Uint8Array>
  /** The path that a refusal names. */
  path: string
}

/**
 * Makes a change in the folder that the path names, which is held open meanwhile: a path that goes through a
 * link is refused, and a link that appears later is not followed (see enter.sh).
 */
export async function inFolder({ run }: Remote, change: Change): Promise<void> {
  const { script, folders, names, asRoot = false, input, path } = change
  const [folder, other = ''] = folders
  const words = [SCRIPTS[script], asRoot ? 'root' : 'owner', folder, other, ...names]
  const { stdout, stderr } = await run(
    `sh -c ${quoted(ENTER)} enter.sh ${words.map(quoted).join(' ')}; printf %s "$?"`,
    input,
  )
  // sshd loses the exit code of a command that ends while it is still being written to
  const code = /^\d+$/.test(stdout) ? Number(stdout) : null
  if (code !== 0) throw refusalOf(code, { path, to: pathOf(change), stderr })
}

const pathOf = ({ folders, names }: Change) => [folders.at(-1), names.at(-1)].join('/')

/** What the scripts' own exit codes mean. */
function refusalOf(
  code: number | null,
  { path, to, stderr }: { path: string; to: string; stderr: string },
): Error {
  switch (code) {
    case null:
      return refusal(new Error('The command was ended'), path)
    case 64:
      return refusal({ code: NO_SUCH_FILE }, path)
    case 65:
      return throughLink(path, stderr)
    case 66:
      return exists(to)
    case 67:
      return notFile(path)
    case 68:
      return isLink(path, stderr.trim())
    default:
      return refusedCommand(path, stderr)
  }
}

const throughLink = (path: string, folder: string) =>
  new AppError(
    'invalid',
    'file.link',
    `A folder of ${path} is a link, and changes follow none. If you mean what it leads to, name it in ${folder}.`,
  )

const isLink = (path: string, target: string) =>
  new AppError(
    'invalid',
    'file.link',
    `${path} is a link to ${target}, and changes follow none. Name the file itself, or delete the link first.`,
  )
