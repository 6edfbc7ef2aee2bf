import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { AppError } from '@guildhall/service/errors'

/** Least key material of one key (NIST SP 800-57: 256 bits). */
const LEAST_KEY_BYTES = 32
const SUBKEY_BYTES = 32
/** Nonce and tag lengths of AES-GCM (NIST SP 800-38D). */
const NONCE_BYTES = 12
const TAG_BYTES = 16
const FORMAT = 'v1'
const KEY_ID_BYTES = 6

const ACCEPTED = `a comma list of keys, each at least ${LEAST_KEY_BYTES} bytes: hex (64 digits or more), base64 (43 characters or more) or a passphrase of ${LEAST_KEY_BYTES} characters or more without commas`

/** What a sealed value belongs to. It opens only for the same org and field. */
export interface SealedFor {
  /** null for a value of the whole deployment. */
  org: number | null
  field: string
}

export interface Sealer {
  /** False when there is no key: then `seal` and `open` throw `secrets_key.unset`. */
  ready: boolean
  /** `v1.<key id>.<nonce, ciphertext and tag in base64url>`; two seals of one value differ. */
  seal(plain: string | Uint8Array, belongs: SealedFor): string
  /** The sealed bytes. Throws `sealed.unopenable` for another key, org, field or use, and for an altered value. */
  open(sealed: string, belongs: SealedFor): Buffer
}

interface Key {
  id: string
  bytes: Buffer
}

/** 32 bytes of HKDF-SHA256 (RFC 5869, no salt): different `info`, unrelated key. */
export function subkey(master: string | Uint8Array, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, new Uint8Array(0), info, SUBKEY_BYTES))
}

/**
 * Seals with AES-256-GCM under a subkey of the first key in `keys` and opens with any of them, so that a new key can be put
 * in front and the old one dropped after all was sealed again.
 * `use` (`auth.secrets`, `compute.ssh_keys`) keeps the values of one purpose from opening in another.
 * Throws `secrets_key.malformed` if `keys` is set but not acceptable.
 */
export function createSealer(keys: string | undefined, use: string): Sealer {
  const ring = parseKeys(keys).map((master) => keyOf(master, use))
  return {
    ready: ring.length > 0,
    seal: (plain, belongs) => sealWith(firstOf(ring), plain, belongs),
    open: (sealed, belongs) => openWith(ring, sealed, belongs),
  }
}

/** The key material in a setting such as SECRETS_KEY, first key first; none if unset or blank. */
export function parseKeys(keys: string | undefined): Buffer[] {
  if (!keys?.trim()) return []
  return keys.split(',').map((text, index) => {
    const material = keyMaterial(text.trim())
    if (material.length >= LEAST_KEY_BYTES) return material
    throw new AppError(
      'invalid',
      'secrets_key.malformed',
      `SECRETS_KEY: key ${index + 1} holds ${material.length} bytes. Accepted is ${ACCEPTED}. \`openssl rand -base64 32\` makes one.`,
    )
  })
}

/** The second part of all that is sealed under one of these keys. It tells nothing of the key. */
export const keyIdsOf = (keys: string): string[] => parseKeys(keys).map(idOf)

function keyMaterial(text: string): Buffer {
  if (/^([0-9a-f]{2})+$/i.test(text)) return Buffer.from(text, 'hex')
  const decoded = /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
  if (decoded && decoded.length >= LEAST_KEY_BYTES) return decoded
  return Buffer.from(text, 'utf8')
}

const idOf = (master: Buffer) =>
  subkey(master, 'guildhall sealed key id').subarray(0, KEY_ID_BYTES).toString('hex')

function keyOf(master: Buffer, use: string): Key {
  return { id: idOf(master), bytes: subkey(master, `guildhall sealed ${FORMAT} ${use}`) }
}

function firstOf(ring: Key[]): Key {
  const [key] = ring
  if (key) return key
  throw new AppError(
    'unavailable',
    'secrets_key.unset',
    `SECRETS_KEY is not set, so secrets can be neither kept nor read. Set it to ${ACCEPTED}.`,
  )
}

function sealWith(key: Key, plain: string | Uint8Array, belongs: SealedFor): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(associatedData(key, belongs))
  const sealed = [nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]
  return [FORMAT, key.id, Buffer.concat(sealed).toString('base64url')].join('.')
}

function openWith(ring: Key[], sealed: string, belongs: SealedFor): Buffer {
  firstOf(ring)
  const [format, id, payload, ...rest] = sealed.split('.')
  const bytes = Buffer.from(payload ?? '', 'base64url')
  const whole = format === FORMAT && rest.length === 0 && bytes.length >= NONCE_BYTES + TAG_BYTES
  if (!whole) throw unopenable(belongs, 'it is not in the format that this version writes')
  const key = ring.find((candidate) => candidate.id === id)
  if (!key)
    throw unopenable(belongs, 'its key is not in SECRETS_KEY; put that key back into the list')
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(associatedData(key, belongs))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    return Buffer.concat([
      decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)),
      decipher.final(),
    ])
  } catch (cause) {
    throw unopenable(belongs, 'it was altered, or sealed for another org or field', cause)
  }
}

/** JSON of a list has one reading only, so no two pairs of org and field share it. */
function associatedData(key: Key, { org, field }: SealedFor): Buffer {
  return Buffer.from(JSON.stringify([FORMAT, key.id, org, field]))
}

function unopenable({ org, field }: SealedFor, why: string, cause?: unknown): AppError {
  const owner = org === null ? 'the deployment' : `org ${org}`
  return new AppError(
    'unavailable',
    'sealed.unopenable',
    `The sealed value ${field} of ${owner} cannot be opened: ${why}. Otherwise set the value again.`,
    cause === undefined ? {} : { cause },
  )
}
