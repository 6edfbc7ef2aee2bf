import { busMigrations } from '@guildhall/bus/tables'
import { type Service, services } from '@guildhall/contracts/names'
import { knownRevisions, migrateDown, migrateUp, pendingMigrations } from '@guildhall/db/migrate'
import { provision, roleUrl } from '@guildhall/db/provision'
import type { Env } from '@guildhall/service/config'
import { parts } from '../services.ts'
import { type Said, table, UsageError, withDatabase, withFiles } from './context.ts'

interface Owner {
  url: string
  internalKey: string
  env: Env
}

/** How to migrate the schema of one service, by its role: the operator's where <SERVICE>_DATABASE_URL is set. */
function schemaOf(service: Service, { url, internalKey, env }: Owner) {
  return {
    url: ownUrlOf(service, env) || roleUrl(url, service, internalKey),
    schema: service,
    folders: foldersOf(service),
  }
}

const foldersOf = (service: Service) => [busMigrations, parts[service].migrations]

/** The URL of a service's own role, where the operator set one. */
export const ownUrlOf = (service: Service, env: Env) =>
  withFiles(env)[`${service.toUpperCase()}_DATABASE_URL`]

/** The revisions of this build, oldest first. */
export const revisionsOfBuild = (service: Service) => knownRevisions(foldersOf(service))

/** The same, with role and schema made where they are missing and ours to make. */
async function provisioned(service: Service, owner: Owner) {
  if (!ownUrlOf(service, owner.env)) await provision(owner.url, service, owner.internalKey)
  return schemaOf(service, owner)
}

/** Makes every schema and brings it to the newest revision; answers what was applied. */
export async function migrateEach(owner: Owner) {
  const rows = []
  for (const service of services) {
    const applied = await migrateUp(await provisioned(service, owner))
    rows.push({ service, applied: applied.join(', ') || 'nothing to do' })
  }
  return rows
}

export function migrateAllUp(env: Env): Promise<Said> {
  return withDatabase(env, async (url, internalKey) => {
    const rows = await migrateEach({ url, internalKey, env })
    return { text: table(rows), json: rows }
  })
}

export function migrateOneDown(env: Env, name: string | undefined, yes: boolean): Promise<Said> {
  const service = services.find((one) => one === name)
  if (!service) throw new UsageError(`Name the service: migrate down <${services.join('|')}> --yes`)
  if (!yes)
    throw new UsageError(
      'Going back drops what the newest revision added, with its data. Stop the service, make a backup, then add --yes',
    )
  return withDatabase(env, async (url, internalKey) => {
    const undone = await migrateDown(await provisioned(service, { url, internalKey, env }))
    return {
      text: undone
        ? `${service} went back by ${undone}`
        : `${service} has no revision to take back`,
      json: { service, undone: undone ?? null },
    }
  })
}

/** The names of revisions that are not applied yet, by service, or why that cannot be told. */
export async function pendingByService(owner: Owner) {
  const pairs = services.map(async (service) => [
    service,
    await pendingMigrations(schemaOf(service, owner)).catch((error: Error) => error),
  ])
  return Object.fromEntries(await Promise.all(pairs)) as Record<Service, string[] | Error>
}
