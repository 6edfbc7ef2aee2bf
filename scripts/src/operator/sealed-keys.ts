import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import { UsageError } from './context.ts'

/** scrypt (RFC 7914) as OWASP's Password Storage Cheat Sheet asks: 128 MiB for each guess. */
const COST = { N: 2 ** 17, r: 8, p: 1 }
const MOST_MEMORY = 256 * 1024 * 1024
const KEY_BYTES = 32
const SALT_BYTES = 16
/** Nonce and tag lengths of AES-GCM (NIST SP 800-38D). */
const NONCE_BYTES = 12
const TAG_BYTES = 16
const LEAST_PASSPHRASE = 12
const FORMAT = 'guildhall keys 1: scrypt N=131072 r=8 p=1, AES-256-GCM'

const Box = z.strictObject({
  format: z.literal(FORMAT),
  salt: z.base64(),
  nonce: z.base64(),
  sealed: z.base64(),
  tag: z.base64(),
})

/** Keys by their names, sealed under a passphrase. */
export async function sealKeys(keys: Record<string, string>, passphrase: string): Promise<Buffer> {
  const [salt, nonce] = [randomBytes(SALT_BYTES), randomBytes(NONCE_BYTES)]
  const cipher = createCipheriv('aes-256-gcm', await derived(passphrase, salt), nonce, {
    authTagLength: TAG_BYTES,
  }).setAAD(Buffer.from(FORMAT))
  const sealed = Buffer.concat([cipher.update(JSON.stringify(keys)), cipher.final()])
  const parts = { salt, nonce, sealed, tag: cipher.getAuthTag() }
  const texts = Object.entries(parts).map(([name, bytes]) => [name, bytes.toString('base64')])
  return Buffer.from(JSON.stringify({ format: FORMAT, ...Object.fromEntries(texts) }))
}

/** The keys again. Throws `backup.passphrase` for another passphrase or an altered box. */
export async function openSealedKeys(box: Buffer, passphrase: string) {
  try {
    const { salt, nonce, sealed, tag } = Box.parse(JSON.parse(box.toString()))
    const key = await derived(passphrase, Buffer.from(salt, 'base64'))
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64'), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(FORMAT))
      .setAuthTag(Buffer.from(tag, 'base64'))
    const opened = [decipher.update(Buffer.from(sealed, 'base64')), decipher.final()]
    return z.record(z.string(), z.string()).parse(JSON.parse(Buffer.concat(opened).toString()))
  } catch (cause) {
    const message =
      'The keys of this backup do not open: the passphrase is another one. Nothing was restored'
    throw new AppError('invalid', 'backup.passphrase', message, { cause })
  }
}

const deriveKey = promisify<string, Buffer, number, object, Buffer>(scrypt)
const derived = (passphrase: string, salt: Buffer) =>
  deriveKey(passphrase.normalize('NFC'), salt, KEY_BYTES, { ...COST, maxmem: MOST_MEMORY })

/** The passphrase in a file, without the line's end; on the command line everybody could read it. */
export async function readPassphrase(file: string | undefined): Promise<string> {
  if (!file) throw new UsageError('--with-keys needs --passphrase-file <file>')
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new UsageError(`The passphrase cannot be read: ${error.message}`)
  })
  const passphrase = text.replace(/\r?\n$/, '')
  if (passphrase.length >= LEAST_PASSPHRASE) return passphrase
  throw new UsageError(
    `The passphrase in ${file} has ${passphrase.length} characters; it needs ${LEAST_PASSPHRASE}, better five random words`,
  )
}
