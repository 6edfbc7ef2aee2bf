import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { cleanUp, until } from '@guildhall/service/testing'
import { PROGRAMS, quietLog } from '../testing.ts'
import { findOpenssh } from './openssh.ts'

const CERTIFICATE = 'ssh-ed25519-cert-v01@openssh.com'
const KEY = 'ssh-ed25519'
const USER_CERTIFICATE = 1
const DAY_SECONDS = 86_400

/** As much of a pod as the tests read. */
export interface SeenPod {
  id: string
  status: string
  actions: string[]
  cost: number
  name: string
  ssh: { direct: { host: string; port: number } | null }
}

/** What a program answered. */
export interface Ran {
  code: number
  stdout: string
  stderr: string
}

/** Keys of a club and of two people, and the system's ssh, sftp, scp and ssh-keygen to use them with. */
export async function testKeys(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'pod-keys-'))
  cleanUp(t, () => rm(folder, { recursive: true, force: true }))
  const root = existsSync('/usr/bin/ssh')
    ? '/'
    : await findOpenssh({ home: PROGRAMS, log: quietLog, env: process.env })
  const run = (program: string, args: string[], input = '') =>
    runProgram(join(root, 'usr/bin', program), args, input)
  const ca = generateKeyPairSync('ed25519')
  const made: Record<string, string> = {}
  for (const name of ['backend', 'person']) {
    const file = join(folder, name)
    const { code, stderr } = await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
    assert.equal(code, 0, stderr)
    made[name] = (await run('ssh-keygen', ['-y', '-f', file])).stdout.trim()
  }
  return {
    folder,
    run,
    ca: ca.privateKey,
    backend: join(folder, 'backend'),
    person: join(folder, 'person'),
    /** What a pod of this club is made with. */
    env: {
      CLI_SSH_PUBLIC_KEY: made.backend ?? '',
      CLI_SSH_CA_PUBLIC_KEY: `${KEY} ${publicBlob(ca.privateKey).toString('base64')}`,
    },
    /** The path of a certificate for the person, in a file of its own. */
    async certificate(wanted: Partial<Certificate> & { principals: string[] }) {
      const blob = Buffer.from(made.person?.split(' ')[1] ?? '', 'base64')
      const text = issue({ ca: ca.privateKey, ...wanted }, blob)
      const file = join(folder, `${randomBytes(8).toString('hex')}-cert.pub`)
      await writeFile(file, `${text}\n`)
      return file
    },
  }
}

export type TestKeys = Awaited<ReturnType<typeof testKeys>>

export interface Certificate {
  ca: KeyObject
  principals: string[]
  /** Seconds from now. */
  from?: number
  until?: number
  forceCommand?: string
  extensions?: string[]
}

/** The certificate of a member for their own folder. */
export const memberOf = (podId: string, folder: string) => ({
  principals: [`cp-${podId}`],
  forceCommand: `/usr/local/bin/compute-login ${folder}`,
  extensions: ['permit-port-forwarding', 'permit-pty'],
})

/** An OpenSSH certificate over an ed25519 key (PROTOCOL.certkeys). */
function issue(wanted: Certificate, person: Buffer): string {
  const { principals, from = -300, until: to = DAY_SECONDS, forceCommand, extensions } = wanted
  const now = Math.floor(Date.now() / 1000)
  const critical = forceCommand ? [text('force-command'), text(text(forceCommand))] : []
  const blob = text(publicBlob(wanted.ca))
  const signed = Buffer.concat([
    text(CERTIFICATE),
    text(randomBytes(32)),
    person.subarray(4 + KEY.length), // the key itself, as it follows the name of its kind
    uint64(1),
    uint32(USER_CERTIFICATE),
    text('chat:1:test'),
    text(Buffer.concat(principals.map(text))),
    uint64(now + from),
    uint64(now + to),
    text(Buffer.concat(critical)),
    text(Buffer.concat((extensions ?? ['permit-pty']).flatMap((name) => [text(name), text('')]))),
    text(''),
    blob,
  ])
  const signature = Buffer.concat([text(KEY), text(sign(null, signed, wanted.ca))])
  return `${CERTIFICATE} ${Buffer.concat([signed, text(signature)]).toString('base64')}`
}

function publicBlob(key: KeyObject): Buffer {
  const der = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return Buffer.concat([text(KEY), text(der.subarray(-32))])
}

function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint32(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

/** A client of the pod host with one account's key. */
export function podhostClient(url: string, key: string) {
  const ask = async (method: string, path: string, body?: unknown) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const reply = await fetch(`${url}${path}`, { method, headers, ...sent })
    const answer = await reply.text()
    const isJson = /json/.test(reply.headers.get('content-type') ?? '')
    return {
      status: reply.status,
      headers: reply.headers,
      body: isJson ? JSON.parse(answer) : answer,
    }
  }
  const become = (id: string, status: string) =>
    until(async () => {
      const { body } = await ask('GET', `/pods/${id}`)
      if (body.status === 'ERROR' && status !== 'ERROR')
        assert.fail(String((await ask('GET', `/pods/${id}/logs`)).body))
      return body.status === status && (body as SeenPod)
    }, 20_000)
  return {
    ask,
    /** Waits for a status. */
    become,
    /** A pod that runs. */
    async create(env: Record<string, string>, more: object = {}): Promise<SeenPod> {
      const made = await ask('POST', '/pods', { ...gpuPod, env, ...more })
      assert.equal(made.status, 201, JSON.stringify(made.body))
      return become(made.body.id, 'RUNNING')
    },
    act: (id: string, action: string) => ask('POST', `/pods/${id}/action`, { action }),
  }
}

/** A GPU pod with a volume. */
export const gpuPod = {
  name: 'pod-0123abcd',
  image: 'guildhall/pod',
  cloud: 'COMMUNITY',
  disk: 20,
  ports: ['22/tcp'],
  gpu: { id: 'NVIDIA RTX A4000', count: 1 },
  mounts: { persistent: { size: 20, path: '/workspace' } },
}

/** Options of ssh, scp and sftp alike: never a question, nothing of the person's own settings. */
export const sshOptions = (key: string, certificate?: string) => [
  ...['-F', '/dev/null', '-i', key, '-o', 'IdentitiesOnly=yes', '-o', 'BatchMode=yes'],
  ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
  ...['-o', 'LogLevel=ERROR', '-o', 'ExitOnForwardFailure=yes', '-o', 'ConnectTimeout=10'],
  ...(certificate ? ['-o', `CertificateFile=${certificate}`] : []),
]

const portOf = ({ ssh }: SeenPod) => String(ssh.direct?.port)

/** Runs a command on the pod as root, as the club's own backend does. */
export const asRoot = (keys: TestKeys, pod: SeenPod, command: string) =>
  keys.run('ssh', [...sshOptions(keys.backend), '-p', portOf(pod), 'root@127.0.0.1', command])

/** Runs a command with the person's certificate. */
export const asPerson = (
  keys: TestKeys,
  pod: SeenPod,
  certificate: string,
  command: string,
  options: string[] = [],
) => {
  const all = [...sshOptions(keys.person, certificate), ...options, '-p', portOf(pod)]
  return keys.run('ssh', [...all, 'root@127.0.0.1', command])
}

function runProgram(program: string, args: string[], input: string): Promise<Ran> {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', LC_ALL: 'C' }
  return new Promise((resolve) => {
    const child = execFile(program, args, { env, timeout: 30_000 }, (error, stdout, stderr) => {
      const code = error ? Number(error.code ?? 255) : 0
      resolve({ code, stdout, stderr })
    })
    child.stdin?.on('error', () => {}) // a program may end without reading its input
    child.stdin?.end(input)
  })
}
