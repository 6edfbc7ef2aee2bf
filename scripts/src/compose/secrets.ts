import { randomBytes } from 'node:crypto'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Service, services } from '@guildhall/contracts/names'
import { roleUrl } from '@guildhall/db/provision'
import { type Env, PostgresUrl, SettingsError } from '@guildhall/service/config'
import { ownKey } from '@guildhall/service/internal-key'
import { explainFaults } from '../explain.ts'
import { readIfThere } from '../home.ts'

type Make = (known: Env) => string

/** Secrets that we make, in order: some are written from earlier ones. */
const MADE: Record<string, Make> = {
  internal_key: newKey,
  secret_key: newKey,
  secrets_key: newKey,
  postgres_password: newKey,
  database_url: ({ postgres_password }) =>
    `postgres://guildhall:${postgres_password}@postgres:5432/guildhall`,
  meili_api_key: newKey,
  qdrant_api_key: newKey,
}

/** What follows from other secrets, and follows them when they change. */
const FOLLOWING: Record<string, Make> = {
  meili_config: ({ meili_api_key }) =>
    `http_addr = "0.0.0.0:7700"\nmaster_key = "${meili_api_key}"\n`,
  qdrant_config: ({ qdrant_api_key }) => `service:
  api_key: ${qdrant_api_key}
storage:
  storage_path: /qdrant/storage
  snapshots_path: /qdrant/storage/snapshots
telemetry_disabled: true
`,
  ...Object.fromEntries(services.flatMap(ofService)),
}

/** A service knows no more than its own part of INTERNAL_KEY, and the database as its own role. */
function ofService(service: Service): [string, Make][] {
  return [
    [`${service}_internal_key`, ({ internal_key = '' }) => ownKey(internal_key, service)],
    [
      `${service}_database_url`,
      ({ database_url = '', internal_key = '' }) => roleUrl(database_url, service, internal_key),
    ],
  ]
}

/** Secrets of outside services: empty until somebody writes them, and an empty one counts as unset. */
const GIVEN = [
  'bot_token',
  'client_secret',
  'idp_secret_key',
  'idp_jwt_key',
  'codehost_token',
  'notes_api_key',
  'google_service_account',
  'embeddings_api_key',
  'renderer_api_key',
  'tracker_dsn',
  'error_webhook_url',
]

/** The names of all of them. */
export const secretNames = [...Object.keys(MADE), ...GIVEN, ...Object.keys(FOLLOWING)]

/**
 * Every secret, with what `known` has of them; the others are made, or empty where they are given by others. Throws
 * SettingsError where `database_url` is no URL.
 */
export function secretsOf(known: Env): Record<string, string> {
  const all: Record<string, string> = {}
  for (const name of [...Object.keys(MADE), ...GIVEN])
    all[name] = known[name] ?? MADE[name]?.(all) ?? ''
  const url = PostgresUrl.safeParse(all.database_url)
  if (!url.success) throw new SettingsError(`database_url: ${url.error.issues[0]?.message}`)
  for (const [name, make] of Object.entries(FOLLOWING)) all[name] = make(all)
  return all
}

/**
 * Makes the files that are missing, and again those that follow from others; leaves the rest as they are. Answers the
 * names of those it wrote. The folder is its owner's alone; the files in it can be read by all, because a container
 * sees the file and not the folder, and runs as another user.
 */
export async function makeSecrets(folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o700)
  const there: Env = {}
  for (const name of secretNames) there[name] = await readIfThere(join(folder, name))
  const known = Object.entries(there).map(([name, text]) => [name, text?.trim()])
  const made: string[] = []
  for (const [name, text] of Object.entries(secretsOf(Object.fromEntries(known)))) {
    if (there[name] !== undefined && (!(name in FOLLOWING) || there[name] === text)) continue
    await writeFile(join(folder, name), text)
    await chmod(join(folder, name), 0o644)
    made.push(name)
  }
  return made
}

function newKey() {
  return randomBytes(32).toString('hex')
}

/** `secrets.ts <folder>` */
if (import.meta.main) {
  explainFaults()
  const [, , folder] = process.argv
  if (!folder) throw new SettingsError('Name the folder: secrets.ts <folder>')
  const made = await makeSecrets(folder)
  const keep = 'Keep a copy of the folder: sealed data does not open without it.'
  process.stdout.write(
    made.length > 0 ? `Made ${made.join(', ')}. ${keep}\n` : 'Nothing was missing.\n',
  )
}
