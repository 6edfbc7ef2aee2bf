import { AppError } from './errors.ts'

/**
 * Throws 400 where a text in `value` holds what Postgres cannot keep: U+0000, or half of a surrogate pair,
 * which would be stored as another character or not at all. Bytes and lists of numbers are not looked through.
 */
export function checkStorable(value: unknown): void {
  if (typeof value === 'string') checkText(value)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
  if (Array.isArray(value)) {
    if (typeof value[0] !== 'number') for (const item of value) checkStorable(item)
    return
  }
  for (const [name, item] of Object.entries(value)) {
    checkText(name)
    checkStorable(item)
  }
}

function checkText(text: string) {
  if (text.includes('\0'))
    throw new AppError(
      'invalid',
      'request.nul',
      'Text must not hold the character U+0000; leave it out',
    )
  if (!text.isWellFormed())
    throw new AppError(
      'invalid',
      'request.surrogate',
      'Text must not hold half of a surrogate pair (U+D800 to U+DFFF); send well-formed Unicode',
    )
}
