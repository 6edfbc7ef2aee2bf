import { hkdfSync } from 'node:crypto'
import { SettingsError } from './config.ts'

const OWN = /^own-([a-z]+)-[0-9a-f]{64}$/

/**
 * The part of INTERNAL_KEY that is one process's alone, which it may be given in its place: from it come its own
 * passwords and keys, and nobody else's (HKDF, RFC 5869). Throws SettingsError where it is another process's.
 */
export function ownKey(internalKey: string, name: string): string {
  const [, owner] = OWN.exec(internalKey) ?? []
  if (!owner)
    return `own-${name}-${Buffer.from(hkdfSync('sha256', internalKey, 'guildhall', `own:${name}`, 32)).toString('hex')}`
  if (owner === name) return internalKey
  throw new SettingsError(`INTERNAL_KEY is the one of ${owner} alone; it tells nothing of ${name}`)
}

/** `bytes` bytes that only whoever knows the own key of `name` can tell, for one `use`. */
export const derived = (internalKey: string, name: string, use: string, bytes: number) =>
  Buffer.from(hkdfSync('sha256', ownKey(internalKey, name), 'guildhall', use, bytes))
