import { AppError } from './errors.ts'

/** Deepest nesting: whatever walks through a value, here or in Postgres, then has stack enough. */
const MOST_DEPTH = 200

/**
 * Throws 400 where a text in `value` holds what Postgres cannot keep: U+0000, or half of a surrogate pair,
 * which would be stored as another character or not at all; where it is nested too deep to be walked through; and
 * where a key would change what an object is once it is copied. Bytes are not looked through.
 */
export function checkStorable(value: unknown, depth = 0): void {
  if (typeof value === 'string') checkText(value)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
  if (depth > MOST_DEPTH) throw tooDeep()
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item !== 'number') checkStorable(item, depth + 1)
    return
  }
  for (const [name, item] of Object.entries(value)) {
    checkKey(name, item)
    checkStorable(item, depth + 1)
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

/** Refuses also what reaches an object's prototype when it is copied or read (CWE-1321). */
function checkKey(name: string, item: unknown) {
  checkText(name)
  const isObject = typeof item === 'object' && item !== null
  if (name === '__proto__') throw poisoned(name)
  if (name === 'constructor' && isObject && Object.hasOwn(item, 'prototype')) throw poisoned(name)
}

const poisoned = (name: string) =>
  new AppError(
    'invalid',
    'request.reserved_key',
    `An object must not have the key ${name === '__proto__' ? name : 'constructor with a key prototype in it'}; name it otherwise`,
  )

const tooDeep = () =>
  new AppError(
    'invalid',
    'request.too_deep',
    `Objects and lists may be nested ${MOST_DEPTH} deep; send a flatter body`,
  )

/** Whatever was said, as a text of at most so many whole characters that Postgres takes: it takes no U+0000. */
export const storable = (said: unknown, most = Number.POSITIVE_INFINITY) =>
  String(said).replaceAll('\0', '').slice(0, most).toWellFormed()
