import { createPublicKey } from 'node:crypto'
import { AppError } from '@guildhall/service/errors'
import { createReader, fingerprintOf, Malformed } from './wire.ts'

/** Longest line (decisions.md § 2), and the RSA sizes accepted, in bits. */
const MOST_CHARS = 4096
const LEAST_RSA_BITS = 2048
const MOST_RSA_BITS = 16_384
const ACCEPTED = `Accepted are ed25519, ecdsa (nistp256, nistp384, nistp521), rsa of at least ${LEAST_RSA_BITS} bits and security keys (sk-). Make one with: ssh-keygen -t ed25519`

type Reader = ReturnType<typeof createReader>

/** Reads the fields of each kind of key and throws Malformed unless they make a key. */
const KINDS: Record<string, (fields: Reader) => void> = {
  'ssh-ed25519': readEd25519,
  'ecdsa-sha2-nistp256': (fields) => readEcdsa(fields, 'nistp256'),
  'ecdsa-sha2-nistp384': (fields) => readEcdsa(fields, 'nistp384'),
  'ecdsa-sha2-nistp521': (fields) => readEcdsa(fields, 'nistp521'),
  'ssh-rsa': readRsa,
  'sk-ssh-ed25519@openssh.com': (fields) => {
    readEd25519(fields)
    readApplication(fields)
  },
  'sk-ecdsa-sha2-nistp256@openssh.com': (fields) => {
    readEcdsa(fields, 'nistp256')
    readApplication(fields)
  },
}

/** A key that a certificate may be made for. */
export interface PublicKey {
  /** `ssh-ed25519` and so on. */
  type: string
  /** The fields after the type, as they stand in the certificate. */
  fields: Buffer
  fingerprint: string
}

/**
 * The key of one line as in id_ed25519.pub: type, base64 and perhaps a comment.
 * Throws 400 `public_key.…` for anything else, options in front and weak keys among them.
 */
export function parsePublicKey(text: string): PublicKey {
  const line = text.trim()
  checkLine(line)
  const [type = '', base64 = ''] = line.split(/[ \t]+/)
  const check = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
  if (!check) throw unknownKind(line, type)
  const blob = Buffer.from(base64, 'base64')
  if (blob.length === 0 || blob.toString('base64') !== base64)
    throw refuse('malformed', `After ${type} there is no base64 of a key`)
  try {
    const reader = createReader(blob)
    if (reader.text() !== type) throw new Malformed('the key is of another kind than it says')
    const fields = reader.rest()
    check(reader)
    if (reader.rest().length > 0) throw new Malformed('something follows the key')
    return { type, fields, fingerprint: fingerprintOf(blob) }
  } catch (error) {
    if (error instanceof Malformed) throw refuse('malformed', `No key: ${error.message}`)
    throw error
  }
}

function checkLine(line: string) {
  if (/PRIVATE KEY/.test(line))
    throw refuse('private', 'This is a private key, which nobody else may see: send the .pub file')
  if (line.length > MOST_CHARS)
    throw refuse('too_long', `The key has over ${MOST_CHARS} characters`)
  if (/[\r\n]/.test(line)) throw refuse('many', 'Send one key, on one line')
}

function readEd25519(fields: Reader) {
  if (fields.string().length !== 32) throw new Malformed('an ed25519 key has 32 bytes')
}

const CURVES = {
  nistp256: ['P-256', 32],
  nistp384: ['P-384', 48],
  nistp521: ['P-521', 66],
} as const

/** An uncompressed point (SEC 1 § 2.3.3) that lies on the curve. */
function readEcdsa(fields: Reader, curve: keyof typeof CURVES) {
  const [crv, size] = CURVES[curve]
  if (fields.text() !== curve) throw new Malformed('the curve is another than it says')
  const point = fields.string()
  if (point.length !== 1 + 2 * size || point[0] !== 4)
    throw new Malformed(`a point of ${curve} has ${1 + 2 * size} bytes`)
  const x = point.subarray(1, 1 + size).toString('base64url')
  const y = point.subarray(1 + size).toString('base64url')
  try {
    createPublicKey({ key: { kty: 'EC', crv, x, y }, format: 'jwk' })
  } catch {
    throw new Malformed(`the point is not on ${curve}`)
  }
}

function readRsa(fields: Reader) {
  const exponent = readPositive(fields)
  const modulus = readPositive(fields)
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24
  if (bits < LEAST_RSA_BITS) throw refuse('weak', `This RSA key has ${bits} bits. ${ACCEPTED}`)
  if (bits > MOST_RSA_BITS) throw refuse('too_long', `An RSA key has at most ${MOST_RSA_BITS} bits`)
  const isOdd = (number: Buffer) => ((number.at(-1) ?? 0) & 1) === 1
  if (!isOdd(modulus) || !isOdd(exponent) || exponent.equals(Buffer.of(1)) || exponent.length > 8)
    throw new Malformed('exponent and modulus are not those of an RSA key')
}

/** A positive mpint in its shortest form (RFC 4251 § 5), without the sign's zero byte. */
function readPositive(fields: Reader): Buffer {
  const bytes = fields.string()
  const [first = 0x80, second = 0] = bytes
  if (first >= 0x80 || (first === 0 && second < 0x80))
    throw new Malformed('a number is not written as RSA keys are')
  return first === 0 ? bytes.subarray(1) : bytes
}

function readApplication(fields: Reader) {
  const application = fields.string()
  if (application.length === 0 || application.length > 255)
    throw new Malformed('a security key names its application')
}

function unknownKind(line: string, type: string): AppError {
  if (/-cert-v\d+@/.test(type)) return refuse('certificate', 'This is a certificate; send the key')
  const known = Object.keys(KINDS).some((kind) => line.includes(`${kind} `))
  if (known) return refuse('options', 'Options stand before the key: send the key alone')
  return refuse('kind', `This is no SSH public key of a kind that is accepted. ${ACCEPTED}`)
}

const refuse = (reason: string, message: string) =>
  new AppError('invalid', `public_key.${reason}`, message, {
    details: [{ path: '/body/public_key', message }],
  })
