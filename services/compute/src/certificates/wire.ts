import { createPublicKey, hash, type KeyObject } from 'node:crypto'

/** The data types of SSH (RFC 4251 § 5). */

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

/** A length and the bytes; text as UTF-8. */
export function string(value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value as string)
  return Buffer.concat([uint32(bytes.length), bytes])
}

/** The bytes are not what they should be. */
export class Malformed extends Error {}

/** Reads one field after the other; throws Malformed past the end. */
export function createReader(bytes: Buffer) {
  let at = 0
  function take(length: number): Buffer {
    if (length > bytes.length - at) throw new Malformed('the key ends too early')
    at += length
    return bytes.subarray(at - length, at)
  }
  return {
    uint32: () => take(4).readUInt32BE(),
    uint64: () => Number(take(8).readBigUInt64BE()),
    string: () => take(take(4).readUInt32BE()),
    text() {
      return this.string().toString('utf8')
    },
    /** What is left. */
    rest: () => bytes.subarray(at),
    /** What was read so far. */
    read: () => bytes.subarray(0, at),
  }
}

/** An ed25519 public key as SSH writes it (RFC 8709 § 4). */
export function ed25519Blob(key: KeyObject): Buffer {
  const { x = '' } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' })
  return Buffer.concat([string('ssh-ed25519'), string(Buffer.from(x, 'base64url'))])
}

/** What `ssh-keygen -lf` shows of a key. */
export const fingerprintOf = (blob: Uint8Array) =>
  `SHA256:${hash('sha256', blob, 'base64').replace(/=+$/, '')}`
