import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Child } from '@guildhall/service/child'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import { ownerMark, superviseServer } from '@guildhall/service/supervised-server'
import { connect } from '@nats-io/transport-node'
import type { NatsUser } from './users.ts'

/** 1 MiB of payload and room for its envelope and headers. */
export const MAX_PAYLOAD_BYTES = 1_048_576 + 65_536
const PROBE_TIMEOUT_MS = 1_000
const PROBE_INBOX = '_INBOX_PROBE'
const UNPACKED = 'usr/sbin/nats-server'
const HALF_MADE = 'nats-server.new-'

const MISSING = `nats-server was not found. Do one of:
  macOS:   brew install nats-server
  Debian:  apt-get install nats-server
  Docker:  docker run -d -p 4222:4222 nats:2 -js   and set NATS_URL=nats://127.0.0.1:4222
  else:    set NATS_SERVER_BIN to its path (https://github.com/nats-io/nats-server/releases)`

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The path of a nats-server: NATS_SERVER_BIN, else one on PATH, else the copy under `home`, else
 * Debian's or Ubuntu's package unpacked there, for which one need not be root.
 * Throws AppError `nats.missing` with what to do, `nats.bad_bin` if NATS_SERVER_BIN does not run.
 */
export async function findNatsServer(options: {
  home: string
  log: Log
  /** The process's own: PATH, NATS_SERVER_BIN, and what apt needs, such as a proxy. */
  env: Environment
}): Promise<string> {
  const { home, log, env } = options
  const chosen = env.NATS_SERVER_BIN
  if (chosen) {
    if (await isExecutable(chosen)) return chosen
    const message = `NATS_SERVER_BIN is ${chosen}, which is not a program that can be run`
    throw new AppError('unavailable', 'nats.bad_bin', message)
  }
  const onPath = await which('nats-server', env)
  if (onPath) return onPath
  const unpacked = join(resolve(home), 'nats-server', UNPACKED)
  if (await isExecutable(unpacked)) return unpacked
  if (!(await which('apt-get', env)) || !(await which('dpkg-deb', env))) {
    throw new AppError('unavailable', 'nats.missing', MISSING)
  }
  log.info('fetching nats-server from the Debian archive (first start only)')
  await unpack(resolve(home), env)
  return unpacked
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function which(name: string, env: Environment): Promise<string | undefined> {
  for (const folder of (env.PATH ?? '').split(delimiter).filter(isAbsolute)) {
    if (await isExecutable(join(folder, name))) return join(folder, name)
  }
  return undefined
}

async function unpack(home: string, env: Environment): Promise<void> {
  await mkdir(home, { recursive: true })
  const made = await mkdtemp(join(home, HALF_MADE))
  try {
    await download(made, env)
    const debs = (await readdir(made)).filter((name) => name.endsWith('.deb'))
    await run('dpkg-deb', ['-x', ...debs, 'unpacked'], made, env)
    await rename(join(made, 'unpacked'), join(home, 'nats-server')).catch(async (error) => {
      if (!(await isExecutable(join(home, 'nats-server', UNPACKED)))) throw error // else: another start was faster
    })
  } catch (cause) {
    const message = `${MISSING}\nFetching it did not work: ${(cause as Error).message}`
    throw new AppError('unavailable', 'nats.missing', message, { cause })
  } finally {
    await rm(made, { recursive: true, force: true })
  }
}

/**
 * Where the system has no package lists (slim images) they are fetched into `folder`: that works
 * without root and leaves the system as it was.
 */
async function download(folder: string, env: Environment): Promise<void> {
  const get = ['-qq', '-o', 'APT::Sandbox::User=root', 'download', 'nats-server']
  try {
    await run('apt-get', get, folder, env)
  } catch {
    await mkdir(join(folder, 'lists', 'partial'), { recursive: true })
    const own = ['-o', `Dir::State::Lists=${folder}/lists`, '-o', `Dir::Cache=${folder}/cache`]
    await run('apt-get', ['-qq', '-o', 'APT::Sandbox::User=root', ...own, 'update'], folder, env)
    await run('apt-get', [...own, ...get], folder, env)
  }
}

const run = (command: string, args: string[], cwd: string, env: Environment) =>
  promisify(execFile)(command, args, { cwd, env: { ...env, LC_ALL: 'C' } })

export interface Nats extends Child {
  url: string
  port: number
}

/**
 * Runs nats-server on 127.0.0.1 with JetStream stored in `dir` and no user but those given. Resolves when
 * JetStream answers. Killed, it comes back on the same port; the next start finds the same port if free.
 */
export async function startNats(options: {
  bin: string
  dir: string
  config: { users: readonly NatsUser[] }
  port?: number
  log: Log
}): Promise<Nats> {
  const { bin, config, log } = options
  const dir = resolve(options.dir)
  const pidFile = join(dir, 'nats.pid')
  const probe = probeUser()
  const server = await superviseServer({
    name: 'nats',
    dir,
    pidFile,
    stopSignal: 'SIGTERM',
    log,
    ...(options.port !== undefined && { port: options.port }),
    async child(port) {
      const conf = await writeConf(
        dir,
        renderConf({ dir, pidFile, users: [...config.users, probe] }),
      )
      return {
        name: 'nats',
        command: bin,
        args: ['-c', conf, '-p', `${port}`, '--name', ownerMark()],
        env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
        stopSignal: 'SIGTERM',
        ready: { probe: () => jetStreamAnswers(port, probe) },
        log,
      }
    },
  })
  return { ...server, url: `nats://127.0.0.1:${server.port}` }
}

function probeUser(): NatsUser {
  const password = randomBytes(16).toString('hex')
  const permissions = { publish: ['$JS.API.INFO'], subscribe: [`${PROBE_INBOX}.>`] }
  return { user: 'probe', password, permissions: { ...permissions, allowResponses: false } }
}

async function jetStreamAnswers(port: number, { user, password }: NatsUser): Promise<boolean> {
  const connection = await connect({
    servers: `127.0.0.1:${port}`,
    user,
    pass: password,
    inboxPrefix: PROBE_INBOX,
    reconnect: false,
    timeout: PROBE_TIMEOUT_MS,
  })
  try {
    const reply = await connection.request('$JS.API.INFO', '', { timeout: PROBE_TIMEOUT_MS })
    return !reply.json<{ error?: unknown }>().error
  } finally {
    await connection.close()
  }
}

/** It holds passwords: never readable by others, also not for a moment. */
async function writeConf(dir: string, text: string): Promise<string> {
  const path = join(dir, 'nats.conf')
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
  return path
}

function renderConf(o: { dir: string; pidFile: string; users: readonly NatsUser[] }): string {
  return `host: "127.0.0.1"
pid_file: ${quote(o.pidFile)}
max_payload: ${MAX_PAYLOAD_BYTES}
jetstream { store_dir: ${quote(o.dir)} }
${renderAuthorization(o.users)}`
}

/** The `authorization` block of a nats-server's configuration: each user with its walls. */
export function renderAuthorization(users: readonly NatsUser[]): string {
  return `authorization {
  users = [
${users.map(renderUser).join('\n')}
  ]
}
`
}

function renderUser({ user, password, permissions }: NatsUser): string {
  const { publish, subscribe, allowResponses } = permissions
  const rules = [`publish: ${renderSubjects(publish)}`, `subscribe: ${renderSubjects(subscribe)}`]
  if (allowResponses) rules.push('allow_responses: true')
  return `    { user: ${quote(user)}, password: ${quote(password)}, permissions: { ${rules.join(', ')} } }`
}

/** To nats-server an empty list of allowed subjects allows every subject. */
function renderSubjects(subjects: readonly string[]): string {
  return subjects.length === 0 ? '{ deny: ">" }' : `{ allow: [${subjects.map(quote).join(', ')}] }`
}

/** nats-server knows the escapes of JSON but `\\u`; a control character has no place in any of these. */
const quote = (text: string) => JSON.stringify(text)
