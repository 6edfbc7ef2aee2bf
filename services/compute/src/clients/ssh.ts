import type { Readable } from 'node:stream'
import { AppError } from '@guildhall/service/errors'
import { Client, type ClientChannel, type ConnectConfig, type SFTPWrapper } from 'ssh2'
import { KEY_TYPES, lineOf, unreachable } from './host-key.ts'

const READY_MS = 10_000
/** A pod that is silent for three of these is gone. */
const KEEPALIVE_MS = 10_000
/** Of one answer over SFTP, and of one command: less than the gateway waits. */
const PATIENCE = { answerMs: 60_000, commandMs: 240_000 }
/** sshd takes ten channels of a connection (MaxSessions), and one is SFTP's. */
const MOST_COMMANDS = 8
const MOST_SAID_BYTES = 4_096

/** The fastest first; all that the OpenSSH of the reference image offers. */
const CIPHERS = [
  'aes128-gcm@openssh.com',
  'aes256-gcm@openssh.com',
  'aes128-ctr',
  'aes256-ctr',
] as const

export interface SshTarget {
  host: string
  port: number
  /** As OpenSSH writes it. */
  privateKey: string
  /** The only host key that is accepted, as in known_hosts; null accepts any. */
  hostKey: string | null
  /** What is thrown for another one. */
  changed: (shown: string) => AppError
}

/** The beginning of what a command said, and its exit code: null where it was killed or sshd lost the code. */
export interface Said {
  code: number | null
  stdout: string
  stderr: string
}
interface Link {
  client: Client
  closed: boolean
  patience: typeof PATIENCE
}
export type Remote = Awaited<ReturnType<typeof openRemote>>

/**
 * Signs in as root and opens SFTP. Throws 502 where the pod does not answer or does not take the key, and
 * `changed` where it shows another host key than the one pinned.
 */
export async function openRemote(target: SshTarget, patience = PATIENCE) {
  const client = await connect(target)
  client.setMaxListeners(0) // each exchange on the way listens for the end
  const link: Link = { client, closed: false, patience }
  client.once('close', () => {
    link.closed = true
  })
  const sftp = await within<SFTPWrapper>(patience.answerMs, link, (resolve, reject) =>
    client.sftp((error, opened) => (error ? reject(error) : resolve(opened))),
  ).catch((error) => {
    client.destroy()
    throw unreachable(error)
  })
  let commands = 0
  return {
    sftp,
    /** One exchange over SFTP; `work` passes its callback on. Rejects with what ssh2 says. */
    ask<T>(work: (done: (error: unknown, value?: T) => void) => void): Promise<T> {
      return within(patience.answerMs, link, (resolve, reject) =>
        work((error, value) => (error ? reject(error) : resolve(value as T))),
      )
    },
    /** Runs a command of the shell, which reads `input`. Throws 429 where too many run. */
    async run(command: string, input?: AsyncIterable<Uint8Array>): Promise<Said> {
      if (commands >= MOST_COMMANDS) throw busy()
      commands++
      try {
        return await runCommand(link, command, input)
      } finally {
        commands--
      }
    },
    onClose: (work: () => void) => void client.once('close', work),
    close: () => void client.end(),
  }
}

function connect({ host, port, privateKey, hostKey, changed }: SshTarget): Promise<Client> {
  const config: ConnectConfig = {
    ...{ host, port, username: 'root', privateKey },
    ...{ readyTimeout: READY_MS, keepaliveInterval: KEEPALIVE_MS },
    algorithms: { serverHostKey: [...KEY_TYPES], cipher: [...CIPHERS] },
  }
  return new Promise((resolve, reject) => {
    const client = new Client()
    let refusal: AppError | undefined
    client.on('error', (error) => reject(refusal ?? unreachable(error))) // also later, when nobody listens
    client.on('close', () => reject(refusal ?? unreachable(undefined)))
    client.on('ready', () => resolve(client))
    client.connect({
      ...config,
      hostVerifier: (key: Buffer) => {
        const shown = lineOf(key)
        if (hostKey !== null && shown !== hostKey) refusal = changed(shown)
        return refusal === undefined
      },
    })
  })
}

async function runCommand(
  link: Link,
  command: string,
  input?: AsyncIterable<Uint8Array>,
): Promise<Said> {
  const channel = await within<ClientChannel>(link.patience.commandMs, link, (resolve, reject) =>
    link.client.exec(command, (error, opened) => (error ? reject(error) : resolve(opened))),
  )
  const ended = saidBy(channel)
  if (input) await feed(link, channel, input)
  return within(link.patience.commandMs, link, (resolve) => void ended.then(resolve))
}

function saidBy(channel: ClientChannel): Promise<Said> {
  const [stdout, stderr] = [beginningOf(channel), beginningOf(channel.stderr)]
  channel.on('error', () => {}) // what is written after the command ended
  let code: number | null = null
  channel.on('exit', (exit: number | null) => {
    code = exit
  })
  return new Promise((resolve) =>
    channel.on('close', () => resolve({ code, stdout: stdout(), stderr: stderr() })),
  )
}

function beginningOf(stream: Readable): () => string {
  const said: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    if (bytes < MOST_SAID_BYTES) said.push(chunk)
    bytes += chunk.length
  })
  return () => Buffer.concat(said).toString('utf8')
}

/**
 * Until all is sent or the command ended, which must itself see where the input is whole. Its end is told only
 * where it breaks off: once both sides have ended ssh2 closes the channel, and sshd may not have told the
 * exit code yet.
 */
async function feed(link: Link, channel: ClientChannel, input: AsyncIterable<Uint8Array>) {
  const room = () =>
    within<void>(link.patience.answerMs, link, (resolve) => {
      const go = () => {
        channel.off('drain', go).off('close', go)
        resolve()
      }
      channel.on('drain', go).on('close', go)
    })
  try {
    for await (const block of input) {
      if (!channel.writable) return
      if (!channel.write(block)) await room()
    }
  } catch (error) {
    channel.end()
    throw error
  }
}

/** Throws when the connection ends first. One that does not answer in time is ended. */
function within<T>(
  ms: number,
  link: Link,
  work: (resolve: (value: T) => void, reject: (error: unknown) => void) => void,
): Promise<T> {
  const { client } = link
  const ended = () => new Error('The SSH connection ended')
  return new Promise((resolve, reject) => {
    if (link.closed) return reject(ended())
    const timer = setTimeout(() => client.destroy(), ms)
    const closed = () => settle(() => reject(ended()))
    function settle(done: () => void) {
      clearTimeout(timer)
      client.off('close', closed)
      done()
    }
    client.once('close', closed)
    work(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    )
  })
}

const busy = () =>
  new AppError(
    'rate_limited',
    'pod.busy',
    `${MOST_COMMANDS} changes of files run on this pod; try again when one of them is done`,
    { retryAfter: 5 },
  )
