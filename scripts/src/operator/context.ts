import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Bus, connectBus } from '@guildhall/bus/connect'
import { renderAuthorization } from '@guildhall/bus/embedded'
import { natsUsers } from '@guildhall/bus/users'
import { services } from '@guildhall/contracts/names'
import { startPostgres } from '@guildhall/db/embedded'
import { commonSettings, type Env, readSettings, SettingsError } from '@guildhall/service/config'
import { createLog } from '@guildhall/service/log'
import { z } from 'zod'
import { homeOf, readRunning } from '../home.ts'
import { readKeys } from '../keys.ts'

/** A command says after so long that NATS does not answer. */
const CONNECT_MS = 5_000

/** A command that was called wrongly: told with exit code 2. */
export class UsageError extends SettingsError {}

/** What a command prints: rows for a person, or the same as JSON with --json. */
export interface Said {
  text: string
  json: unknown
  /** It found a fault: exit code 1. */
  fault?: boolean
}

const log = createLog('operator', { format: 'text', level: 'error' })

/** Keys and servers, which container secrets may bring as files. */
const OF_FILES = ['SECRET_KEY', 'SECRETS_KEY', 'INTERNAL_KEY', 'DATABASE_URL', 'NATS_URL'] as const
const FromFiles = z.object(
  Object.fromEntries(
    [...OF_FILES, ...services.map((one) => `${one.toUpperCase()}_DATABASE_URL`)].map((name) => [
      name,
      z.string().optional(),
    ]),
  ),
)

/** The environment with what `NAME_FILE` names read in. Throws SettingsError where one cannot be read. */
export function withFiles(env: Env): Env {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value))
  return { ...given, ...(readSettings(FromFiles, env) as Env) }
}

/**
 * The settings of the installation of this environment: its keys, and the servers of the one that runs. Throws
 * SettingsError where it has no keys: only a start and a restore make them.
 */
export async function operatorSettings(env: Env): Promise<Env> {
  const settings = await settingsSoFar(env)
  if (settings.INTERNAL_KEY) return settings
  throw new SettingsError(
    `There are no keys in ${settings.GUILDHALL_HOME}: set GUILDHALL_HOME to the folder of the installation (npm start makes one), or set SECRET_KEY, SECRETS_KEY and INTERNAL_KEY`,
  )
}

/** The same where there may be no keys yet. */
export async function settingsSoFar(env: Env): Promise<Env> {
  const home = homeOf(env)
  const given = withFiles(env)
  const running = await readRunning(home)
  const servers = running && { DATABASE_URL: running.DATABASE_URL, NATS_URL: running.NATS_URL }
  const { POSTGRES_PASSWORD, ...keys } = await readKeys(home)
  return { ...keys, ...servers, ...given, GUILDHALL_HOME: home }
}

/** Runs `work` with a connection to the installation as the operator. Throws where none runs or answers. */
export async function withBus<T>(env: Env, work: (bus: Bus) => Promise<T>): Promise<T> {
  const settings = await operatorSettings(env)
  if (!settings.NATS_URL)
    throw new SettingsError(
      `Nothing runs from ${settings.GUILDHALL_HOME}. Run npm start first, or set NATS_URL.`,
    )
  await using bus = await connectAsOperator(settings)
  return await work(bus)
}

const NatsSettings = z.object({ NATS_URL: commonSettings.NATS_URL })

/** Connects to NATS. Throws SettingsError where NATS_URL is none, `nats.unreachable` after CONNECT_MS. */
export function connectAsOperator(settings: Env, level: 'error' | 'fatal' = 'error') {
  const { NATS_URL: url } = readSettings(NatsSettings, settings)
  return connectBus({
    peer: 'operator',
    url,
    internalKey: settings.INTERNAL_KEY ?? '',
    log: createLog('operator', { format: 'text', level }),
    timeoutMs: CONNECT_MS,
  })
}

type DatabaseWork<T> = (url: string, internalKey: string) => Promise<T>

/** Runs `work` with the owner's URL of the database; the embedded Postgres runs just for it if need be. */
export async function withDatabase<T>(env: Env, work: DatabaseWork<T>): Promise<T> {
  const settings = await operatorSettings(env)
  if (hasDatabase(settings)) return withServer(settings, work)
  throw new SettingsError(nothingInstalled(settings))
}

/** What is said where there is no database yet. */
export const nothingInstalled = ({ GUILDHALL_HOME }: Env) =>
  `Nothing is installed in ${GUILDHALL_HOME}: npm start makes it`

/** False where an embedded Postgres would have to be made. */
export const hasDatabase = ({ DATABASE_URL, GUILDHALL_HOME = '' }: Env) =>
  Boolean(DATABASE_URL) || existsSync(join(GUILDHALL_HOME, 'postgres'))

/** Runs `work` as `withDatabase` does, on a new embedded Postgres where there is none. */
export async function withServer<T>(settings: Env, work: DatabaseWork<T>): Promise<T> {
  const { DATABASE_URL, INTERNAL_KEY = '', GUILDHALL_HOME = '' } = settings
  if (DATABASE_URL) return work(DATABASE_URL, INTERNAL_KEY)
  const { POSTGRES_PASSWORD } = await readKeys(GUILDHALL_HOME)
  if (!POSTGRES_PASSWORD)
    throw new SettingsError(
      `The key postgres_password is missing in ${GUILDHALL_HOME}/keys: put the copy back that you kept`,
    )
  const postgres = await startPostgres({
    dir: join(GUILDHALL_HOME, 'postgres'),
    password: POSTGRES_PASSWORD,
    log,
  })
  try {
    return await work(postgres.url, INTERNAL_KEY)
  } finally {
    await postgres.stop()
  }
}

/** What a nats-server of one's own must know of our users. It holds their passwords. */
export async function natsAuthorization(env: Env): Promise<Said> {
  const { INTERNAL_KEY = '' } = await operatorSettings(env)
  const users = natsUsers(INTERNAL_KEY)
  return { text: renderAuthorization(users), json: users }
}

/** Columns of equal width under their names. */
export function table(rows: Record<string, unknown>[]): string {
  const names = Object.keys(rows[0] ?? {})
  const lines = [names, ...rows.map((row) => names.map((name) => String(row[name] ?? '-')))]
  const widths = names.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
