import { AppError } from '@guildhall/service/errors'
import { Client } from 'ssh2'

const TIMEOUT_MS = 8_000
/** In the order of liking, so that a server always shows the same one of its keys. */
export const KEY_TYPES = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
] as const

/** The host key that an SSH server shows, as it stands in known_hosts: type and base64. Nobody signs in. */
export function readHostKey({ host, port }: { host: string; port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    const client = new Client()
    let shown: Buffer | undefined
    const end = (cause?: unknown) => {
      clearTimeout(timer)
      client.destroy()
      if (shown) resolve(lineOf(shown))
      else reject(unreachable(cause))
    }
    const timer = setTimeout(end, TIMEOUT_MS, new Error(`No host key within ${TIMEOUT_MS} ms`))
    client.on('error', end)
    client.on('close', end)
    client.connect({
      host,
      port,
      username: 'root',
      readyTimeout: TIMEOUT_MS,
      algorithms: { serverHostKey: [...KEY_TYPES] },
      hostVerifier: (key: Buffer) => {
        shown = key
        return false
      },
    })
  })
}

/** A key as it stands in known_hosts. The type stands at the beginning of the key itself (RFC 4253 § 6.6). */
export function lineOf(key: Buffer): string {
  const type = key.subarray(4, 4 + key.readUInt32BE(0)).toString('latin1')
  return `${type} ${key.toString('base64')}`
}

export const unreachable = (cause: unknown) =>
  new AppError(
    'upstream',
    'pod.ssh_unreachable',
    'The pod does not answer over SSH; it may still be starting: try again in a minute',
    { cause },
  )
