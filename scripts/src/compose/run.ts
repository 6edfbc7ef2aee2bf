import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Sandbox } from '@guildhall/sandbox/sandbox'
import { type Child, superviseChild } from '@guildhall/service/child'
import type { Env } from '@guildhall/service/config'
import { createLog, type Log } from '@guildhall/service/log'
import { makeDemoOrgs } from '../demo.ts'
import { markHome } from '../home.ts'
import { openKeys } from '../keys.ts'
import { openSandbox, type StackOptions, sandboxSettings, startServers } from '../stack.ts'
import {
  type Compose,
  type Container,
  composeText,
  environmentOf,
  readCompose,
  SECRETS_AT,
} from './file.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
/** Ten processes load the same code at once. */
const READY_WITHIN_MS = 90_000

export interface Processes extends AsyncDisposable {
  /** The gateway's address. */
  url: string
  sandbox: Sandbox
  settings: Env
  /** What a container of the file finds in its environment here. */
  environmentOf(name: string): Record<string, string>
  /** The process id of each, where it runs. */
  pids(): Record<string, number | undefined>
}

/**
 * Starts the processes of docker-compose.yml as it says, each by its own command with its own environment and
 * secrets, and again when it dies. What containers give them is replaced: addresses by free ports of loopback,
 * the servers by the embedded ones, the outside world by the sandbox.
 */
export async function startProcesses({
  home,
  env,
  programs,
}: Omit<StackOptions, 'now'>): Promise<Processes> {
  const log = createLog('processes', { format: 'text', level: env.LOG_LEVEL || 'info' })
  await markHome(home, 'demo')
  const { keys } = await openKeys(home)
  await using opening = new AsyncDisposableStack()
  const { DATABASE_URL, NATS_URL } = await startServers(opening, { home, env, keys, log })
  const compose = readCompose(await composeText(), env)
  const ours = Object.entries(compose.services).filter(([, one]) => isOurs(one))
  const ports = await freePorts(ours.map(([name]) => name))
  const url = `http://127.0.0.1:${ports.gateway}`
  const sandbox = await openSandbox(opening, { env, home, keys, log, programs }, url)
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value))
  const settings: Env = {
    ...keys,
    ...sandboxSettings(sandbox, url),
    ...given,
    DATABASE_URL,
    NATS_URL,
  }
  const place: Place = {
    home,
    ports,
    settings,
    secrets: await writeSecrets(home, compose, settings),
  }
  const children = await startAll(opening, ours, place, log)
  const urls = Object.entries(ports).map(([name, port]) => [
    `${name.toUpperCase()}_URL`,
    `http://127.0.0.1:${port}`,
  ])
  Object.assign(settings, Object.fromEntries(urls))
  await makeDemoOrgs(settings, sandbox)
  const all = opening.move()
  return {
    url,
    sandbox,
    settings,
    environmentOf: (name) => {
      const container = compose.services[name]
      return container ? placed(name, container, place) : {}
    },
    pids: () => Object.fromEntries([...children].map(([name, child]) => [name, child.pid()])),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** Our image, and a process that stays. */
const isOurs = ({ image, healthcheck }: Container) =>
  image.startsWith('guildhall:') && healthcheck !== undefined

interface Place {
  home: string
  /** The folder that stands for the secrets of containers. */
  secrets: string
  ports: Record<string, number>
  /** What `.env` and the shell would say. */
  settings: Env
}

async function startAll(
  opening: AsyncDisposableStack,
  ours: [string, Container][],
  place: Place,
  log: Log,
) {
  const children = new Map<string, Child>()
  const starting = ours.map(async ([name, container]) => {
    const child = await startOne(name, container, place, log)
    opening.defer(() => child.stop())
    children.set(name, child)
  })
  const failed = (await Promise.allSettled(starting)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
  return children
}

function startOne(name: string, container: Container, place: Place, log: Log): Promise<Child> {
  const [, entry = '', ...args] = container.command
  const probe = container.healthcheck?.test.at(-1) ?? ''
  const ready = `http://127.0.0.1:${place.ports[name]}${new URL(probe).pathname}`
  return superviseChild({
    name,
    command: process.execPath,
    args: [entry, ...args],
    cwd: root,
    env: placed(name, container, place),
    stopSignal: 'SIGTERM',
    stopWithinMs: 20_000,
    readyWithinMs: READY_WITHIN_MS,
    ready: { probe: async () => (await fetch(ready)).status === 200 },
    log,
  })
}

/** The environment of a container with this machine's addresses and folders. */
function placed(name: string, container: Container, { home, secrets, ports, settings }: Place) {
  const listens = name === 'gateway' ? 'PORT' : `${name.toUpperCase()}_PORT`
  const here = (value: string) =>
    value
      .replace(/^http:\/\/([a-z]+):\d+$/, (whole, host: string) =>
        ports[host] ? `http://127.0.0.1:${ports[host]}` : whole,
      )
      .replace(SECRETS_AT, `${secrets}/`)
  const env = Object.entries(environmentOf(container, settings)).map(([key, value]) => [
    key,
    here(value),
  ])
  const { PATH = '', NODE_COMPILE_CACHE = '', NATS_URL = '' } = settings
  return {
    ...(Object.fromEntries(env) as Record<string, string>),
    PATH,
    ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
    HOST: '127.0.0.1',
    NATS_URL,
    [listens]: String(ports[name]),
    ...(name === 'gateway' && { ADMIN_PORT: '0' }),
    ...(name === 'knowledge' && { KNOWLEDGE_INDEX_DIR: join(home, 'index') }),
  }
}

/** Each secret of the file with the value of its setting; the others empty, as `setup` makes them. */
async function writeSecrets(home: string, compose: Compose, settings: Env) {
  const folder = join(home, 'secrets')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const name of Object.keys(compose.secrets))
    await writeFile(join(folder, name), settings[name.toUpperCase()] ?? '', { mode: 0o600 })
  return folder
}

/** A free port for each name; whoever takes one in between makes that start fail. */
async function freePorts(names: string[]): Promise<Record<string, number>> {
  const open = (server: Server) =>
    new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
    })
  const servers = names.map(() => createServer())
  const ports = await Promise.all(servers.map(open))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return Object.fromEntries(names.map((name, n) => [name, ports[n] ?? 0]))
}
