import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Sandbox } from '@guildhall/sandbox/sandbox'
import { type Child, superviseChild } from '@guildhall/service/child'
import type { Env } from '@guildhall/service/config'
import { createLog, type Log } from '@guildhall/service/log'
import { makeDemoOrgs } from '../demo.ts'
import { freePorts } from '../free-port.ts'
import { markHome } from '../home.ts'
import { openKeys } from '../keys.ts'
import { openSandbox, type StackOptions, sandboxSettings, startServers } from '../stack.ts'
import { type Container, composeText, readCompose } from './file.ts'
import { type Place, placed, writeSecrets } from './place.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
/** All processes load the same code at once. */
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
  /** Process ids of the embedded servers, where they run. */
  children(): { postgres: number | undefined; nats: number | undefined }
}

/**
 * Starts the processes of docker-compose.yml as it says, each by its own command with its own environment and
 * secrets, and again when it dies. What containers give them is replaced: addresses by free ports of loopback,
 * the servers by the embedded ones, the outside world by the sandbox.
 */
export async function startProcesses(options: Omit<StackOptions, 'now'>): Promise<Processes> {
  const { home, env, programs } = options
  const log = createLog('processes', { format: 'text', level: env.LOG_LEVEL || 'info' })
  await markHome(home, 'demo')
  const { keys } = await openKeys(home)
  await using opening = new AsyncDisposableStack()
  const servers = await startServers(opening, { home, env, keys, log })
  const { DATABASE_URL, NATS_URL } = servers
  const compose = readCompose(await composeText(), env)
  const ours = Object.entries(compose.services).filter(([, one]) => isOurs(one))
  process.setMaxListeners(process.getMaxListeners() + ours.length) // each child is ended with us
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
  const secrets = await writeSecrets(home, compose, settings)
  const place: Place = { home, ports, settings, secrets }
  await runOnce('roles', compose.services.roles, place)
  const children = await startAll(opening, ours, place, log)
  Object.assign(settings, addresses(ports))
  await makeDemoOrgs(settings, sandbox)
  const all = opening.move()
  return {
    url,
    sandbox,
    settings,
    environmentOf: (name) => placed(name, compose.services[name], place),
    pids: () => Object.fromEntries([...children].map(([name, child]) => [name, child.pid()])),
    children: servers.children,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** `AUTH_URL` and so on, as makers of requests around the gateway want them. */
const addresses = (ports: Record<string, number>) =>
  Object.fromEntries(
    Object.entries(ports).map(([name, port]) => [
      `${name.toUpperCase()}_URL`,
      `http://127.0.0.1:${port}`,
    ]),
  )

/** Our image, and a process that stays. */
const isOurs = ({ image, healthcheck }: Container) =>
  image.startsWith('guildhall:') && healthcheck !== undefined

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

async function runOnce(name: string, container: Container | undefined, place: Place) {
  const [, entry = '', ...args] = container?.command ?? []
  const env = placed(name, container, place)
  await promisify(execFile)(process.execPath, [entry, ...args], { cwd: root, env })
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
