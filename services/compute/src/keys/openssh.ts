import { type KeyObject, randomInt } from 'node:crypto'
import { ed25519Blob, string, uint32 } from '../certificates/wire.ts'

const BLOCK = 8
const LINE_CHARS = 70

/** An ed25519 private key as ssh-keygen writes it (OpenSSH, PROTOCOL.key), without a passphrase: what ssh2 reads. */
export function opensshPrivateKey(key: KeyObject): string {
  const { d = '', x = '' } = key.export({ format: 'jwk' })
  const [seed, point] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]
  const check = uint32(randomInt(2 ** 32))
  const secret = Buffer.concat([
    ...[check, check, string('ssh-ed25519'), string(point)],
    ...[string(Buffer.concat([seed, point])), string('')],
  ])
  const padding = Array.from({ length: -secret.length & (BLOCK - 1) }, (_, n) => n + 1)
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[string('none'), string('none'), string(''), uint32(1), string(ed25519Blob(key))],
    string(Buffer.concat([secret, Buffer.from(padding)])),
  ])
  const lines = whole.toString('base64').match(new RegExp(`.{1,${LINE_CHARS}}`, 'g')) ?? []
  const name = 'OPENSSH PRIVATE KEY'
  return [`-----BEGIN ${name}-----`, ...lines, `-----END ${name}-----`, ''].join('\n')
}
