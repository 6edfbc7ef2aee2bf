import { createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto'
import type { PublicKey } from './public-key.ts'
import { createReader, ed25519Blob, string, uint32, uint64 } from './wire.ts'

/** SSH_CERT_TYPE_USER of OpenSSH's PROTOCOL.certkeys. */
const USER = 1
const NONCE_BYTES = 32
const CA_TYPE = 'ssh-ed25519'

/** What a user certificate says. Times are whole seconds since 1970. */
export interface CertificateFields {
  serial: number
  key_id: string
  principals: string[]
  valid_after: number
  valid_before: number
  /** Critical options with their values. */
  critical: Record<string, string>
  extensions: string[]
}

/**
 * An OpenSSH user certificate for `key`, signed by an ed25519 CA (PROTOCOL.certkeys): the line of a
 * `-cert.pub` file. It is read back before it is given out: throws if that is not what was asked for.
 */
export function signCertificate(key: PublicKey, fields: CertificateFields, ca: KeyObject): string {
  const type = certificateType(key)
  const body = Buffer.concat([
    string(type),
    string(randomBytes(NONCE_BYTES)),
    key.fields,
    uint64(fields.serial),
    uint32(USER),
    string(fields.key_id),
    string(Buffer.concat(fields.principals.map(string))),
    uint64(fields.valid_after),
    uint64(fields.valid_before),
    string(
      optionsOf(Object.entries(fields.critical).map(([name, value]) => [name, string(value)])),
    ),
    string(optionsOf(fields.extensions.map((name) => [name, Buffer.alloc(0)]))),
    string(''),
    string(ed25519Blob(ca)),
  ])
  const signature = Buffer.concat([string(CA_TYPE), string(sign(null, body, ca))])
  const line = `${type} ${Buffer.concat([body, string(signature)]).toString('base64')}`
  checkCertificate(line, key, { fields, ca })
  return line
}

/** `ssh-ed25519` becomes `ssh-ed25519-cert-v01@openssh.com`; security keys have their host name once. */
const certificateType = ({ type }: PublicKey) =>
  `${type.replace('@openssh.com', '')}-cert-v01@openssh.com`

/** Options in the order of their names, as the format asks. */
function optionsOf(options: [string, Buffer][]): Buffer {
  const sorted = options.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Buffer.concat(sorted.map(([name, data]) => Buffer.concat([string(name), string(data)])))
}

/** Throws unless the line is a certificate of `ca` for `key` that says exactly `fields`. */
export function checkCertificate(
  line: string,
  key: PublicKey,
  { fields, ca }: { fields: CertificateFields; ca: KeyObject },
): void {
  const [type = '', base64 = ''] = line.split(' ')
  const reader = createReader(Buffer.from(base64, 'base64'))
  const inside = reader.text()
  const nonce = reader.string()
  const keyFields = reader.rest().subarray(0, key.fields.length)
  const rest = createReader(reader.rest().subarray(key.fields.length))
  const serial = rest.uint64()
  const kind = rest.uint32()
  const said: CertificateFields = {
    serial,
    key_id: rest.text(),
    principals: stringsIn(rest.string()),
    valid_after: rest.uint64(),
    valid_before: rest.uint64(),
    critical: Object.fromEntries(
      pairsIn(rest.string()).map(([name, data]) => [name, createReader(data).text()]),
    ),
    extensions: pairsIn(rest.string()).map(([name]) => name),
  }
  const reserved = rest.string()
  const signer = rest.string()
  const signedLength = Buffer.from(base64, 'base64').length - rest.rest().length
  const signed = Buffer.from(base64, 'base64').subarray(0, signedLength)
  const signature = createReader(rest.string())
  const wanted = { ...fields, extensions: fields.extensions.toSorted() }
  const faults = [
    type !== certificateType(key) || inside !== type || kind !== USER,
    nonce.length !== NONCE_BYTES || reserved.length > 0 || rest.rest().length > 0,
    !keyFields.equals(key.fields) || !signer.equals(ed25519Blob(ca)),
    JSON.stringify(sorted(said)) !== JSON.stringify(sorted(wanted)),
    signature.text() !== CA_TYPE || !verify(null, signed, createPublicKey(ca), signature.string()),
  ]
  if (faults.includes(true)) throw new Error(`A certificate came out wrong: ${faults.join()}`)
}

const sorted = ({ critical, ...fields }: CertificateFields) => [
  fields,
  Object.entries(critical).toSorted(),
]

function stringsIn(bytes: Buffer): string[] {
  const reader = createReader(bytes)
  const found: string[] = []
  while (reader.rest().length > 0) found.push(reader.text())
  return found
}

function pairsIn(bytes: Buffer): [string, Buffer][] {
  const reader = createReader(bytes)
  const found: [string, Buffer][] = []
  while (reader.rest().length > 0) found.push([reader.text(), reader.string()])
  return found
}
