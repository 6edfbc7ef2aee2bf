import { randomBytes } from 'node:crypto'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SettingsError } from '@guildhall/service/config'
import { readIfThere } from '../home.ts'

/** Secrets that we make, in order: some are written from earlier ones. */
const MADE: Record<string, (made: Record<string, string>) => string> = {
  internal_key: newKey,
  secret_key: newKey,
  secrets_key: newKey,
  postgres_password: newKey,
  database_url: ({ postgres_password }) =>
    `postgres://guildhall:${postgres_password}@postgres:5432/guildhall`,
  meili_api_key: newKey,
  meili_config: ({ meili_api_key }) =>
    `http_addr = "0.0.0.0:7700"\nmaster_key = "${meili_api_key}"\n`,
  qdrant_api_key: newKey,
  qdrant_config: ({ qdrant_api_key }) => `service:
  api_key: ${qdrant_api_key}
storage:
  storage_path: /qdrant/storage
  snapshots_path: /qdrant/storage/snapshots
telemetry_disabled: true
`,
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
export const secretNames = [...Object.keys(MADE), ...GIVEN]

/**
 * Makes the files that are missing and leaves the others as they are. Answers the names of those it made. The
 * folder is its owner's alone; the files in it can be read by all, because a container sees the file and not
 * the folder, and runs as another user.
 */
export async function makeSecrets(folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o700)
  const known: Record<string, string> = {}
  const made: string[] = []
  for (const name of secretNames) {
    const file = join(folder, name)
    const there = await readIfThere(file)
    known[name] = there?.trim() ?? MADE[name]?.(known) ?? ''
    if (there !== undefined) continue
    await writeFile(file, known[name], { flag: 'wx' })
    await chmod(file, 0o644)
    made.push(name)
  }
  return made
}

function newKey() {
  return randomBytes(32).toString('hex')
}

/** `secrets.ts <folder>` */
if (import.meta.main) {
  const [, , folder] = process.argv
  if (!folder) throw new SettingsError('Name the folder: secrets.ts <folder>')
  const made = await makeSecrets(folder)
  const keep = 'Keep a copy of the folder: sealed data does not open without it.'
  process.stdout.write(
    made.length > 0 ? `Made ${made.join(', ')}. ${keep}\n` : 'Nothing was missing.\n',
  )
}
