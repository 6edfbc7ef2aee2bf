import { createHash } from 'node:crypto'
import { type KnowledgeSettings, MOST_CHUNKS, SourceKey } from '@guildhall/contracts/knowledge'
import { AppError } from '@guildhall/service/errors'

/** The key of an uploaded file: `<folder>/<file name>` in lower case, each other character than a key's as one `-`. */
export function keyOfFile(folder: string, name: string): string {
  const fileName = name
    .replace(/^.*[/\\]/s, '')
    .normalize('NFC') // macOS sends é as two characters
    .toLowerCase()
  const usable = fileName.replace(/[^a-z0-9._:-]/gu, '-')
  if (!/[a-z0-9]/.test(usable.replace(/\.[^.]*$/, ''))) {
    throw refused(
      'The name holds no letter a-z and no digit, so no key can be made of it: rename the file',
    )
  }
  const key = SourceKey.safeParse(`${folder.replace(/\/+$/, '').toLowerCase()}/${usable}`)
  if (key.success) return key.data
  throw refused(`No key can be made of folder and name: ${key.error.issues[0]?.message}`)
}

const refused = (message: string) => new AppError('invalid', 'document.name', message)

/** Equal for the same bytes cut in the same way: then nothing has to be written. */
export function hashOfFile(
  bytes: Uint8Array,
  { chunk_chars, chunk_overlap }: Pick<KnowledgeSettings, 'chunk_chars' | 'chunk_overlap'>,
): string {
  const overlap = chunk_overlap > 0 ? `+${chunk_overlap}` : ''
  return `file:${createHash('sha256').update(bytes).digest('hex')}:${chunk_chars}${overlap}`
}

/** Throws if a file makes more passages than a source may have; `passages` may be an estimate from below. */
export function checkLength(passages: number): void {
  if (passages <= MOST_CHUNKS) return
  const message = `The file makes ${passages} or more passages, and a source has at most ${MOST_CHUNKS}: split it, or raise chunk_chars in the knowledge settings of the org`
  throw new AppError('too_large', 'document.too_long', message)
}
