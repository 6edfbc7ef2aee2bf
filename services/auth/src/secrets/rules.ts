import { type Secret, type SecretInfo, secretInfo, secrets } from '@guildhall/contracts/secrets'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import type { SecretMark } from '../db.ts'

const JsonObject = z.record(z.string(), z.unknown())
const MOST_SECRETS = 200
/** What a header can carry (RFC 9110 § 5.5), without spaces. */
const PRINTABLE = /^[\x21-\x7e]+$/

/** What is declared of a secret. Throws `secret.unknown` for a name that none may have. */
export function declaredSecret(name: string): SecretInfo {
  const info = secretInfo(name)
  if (info) return info
  const names = Object.keys(secrets).join(', ')
  throw new AppError(
    'not_found',
    'secret.unknown',
    `There is no such secret. Names are ${names}, and app_… and alert_webhook_… with up to 60 of a-z, 0-9, _ and -`,
  )
}

/** Throws where an org has more secrets than a list shows in one answer. */
export function checkCount({ length }: readonly string[]): void {
  if (length > MOST_SECRETS)
    throw new AppError(
      'conflict',
      'secret.too_many',
      `An org has at most ${MOST_SECRETS} secrets; delete those that nothing uses`,
    )
}

/** Throws unless the value is of the kind that its name declares. Never quotes the value. */
export function checkValue(name: string, value: string, path: string): void {
  const wrong = KINDS[declaredSecret(name).kind](value)
  if (wrong === undefined) return
  const message = `${name} ${wrong}`
  throw new AppError('invalid', 'secret.value', message, { details: [{ path, message: wrong }] })
}

const KINDS: Record<SecretInfo['kind'], (value: string) => string | undefined> = {
  text: () => undefined,
  key: (value) =>
    PRINTABLE.test(value) ? undefined : 'must be printable characters without spaces',
  url: (value) =>
    /^https?:$/.test(URL.parse(value)?.protocol ?? '') ? undefined : 'must be an http(s) URL',
  json: (value) => (jsonObject(value) ? undefined : 'must be a JSON object: the whole key file'),
}

/** The value as a JSON object, or nothing where it is none. */
export function jsonObject(value: string): Record<string, unknown> | undefined {
  try {
    return JsonObject.safeParse(JSON.parse(value)).data
  } catch {
    return undefined // the parser's own message quotes the value
  }
}

/** A secret as officers see it: never its value. */
export function shownSecret(name: string, row: SecretMark | undefined): Secret {
  const { description = '' } = secretInfo(name) ?? {}
  const updated_at = row?.updated_at.toISOString() ?? null
  return {
    name,
    description,
    set: row !== undefined,
    updated_at,
    updated_by: row?.updated_by ?? null,
  }
}

/** Every declared secret, then those under a prefix that are set. */
export function shownSecrets(rows: readonly SecretMark[]): Secret[] {
  const declared = Object.keys(secrets)
  const own = rows.map(({ name }) => name).filter((name) => !declared.includes(name))
  return [...declared, ...own].map((name) =>
    shownSecret(
      name,
      rows.find((row) => row.name === name),
    ),
  )
}
