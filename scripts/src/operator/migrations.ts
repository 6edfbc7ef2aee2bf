import { migrations as auth } from '@guildhall/auth/db'
import { busMigrations } from '@guildhall/bus/tables'
import { type Service, services } from '@guildhall/contracts/names'
import { migrateDown, migrateUp, pendingMigrations } from '@guildhall/db/migrate'
import { provision, roleUrl } from '@guildhall/db/provision'
import { migrations as knowledge } from '@guildhall/knowledge/db'
import { migrations as ops } from '@guildhall/ops/db'
import { type Env, SettingsError } from '@guildhall/service/config'
import { type Said, table, withDatabase } from './context.ts'

const folders: Record<Service, string> = { auth, knowledge, ops }

/** How to migrate the schema of one service, made before if it is missing. */
async function schemaOf(service: Service, url: string, internalKey: string) {
  await provision(url, service, internalKey)
  return {
    url: roleUrl(url, service, internalKey),
    schema: service,
    folders: [busMigrations, folders[service]],
  }
}

export function migrateAllUp(env: Env): Promise<Said> {
  return withDatabase(env, async (url, internalKey) => {
    const rows = []
    for (const service of services) {
      const applied = await migrateUp(await schemaOf(service, url, internalKey))
      rows.push({ service, applied: applied.join(', ') || 'nothing to do' })
    }
    return { text: table(rows), json: rows }
  })
}

export function migrateOneDown(env: Env, name: string | undefined, yes: boolean): Promise<Said> {
  const service = services.find((one) => one === name)
  if (!service)
    throw new SettingsError(`Name the service: migrate down <${services.join('|')}> --yes`)
  if (!yes)
    throw new SettingsError(
      'Going back drops what the newest revision added, with its data. Stop the service, make a backup, then add --yes',
    )
  return withDatabase(env, async (url, internalKey) => {
    const undone = await migrateDown(await schemaOf(service, url, internalKey))
    return {
      text: undone
        ? `${service} went back by ${undone}`
        : `${service} has no revision to take back`,
      json: { service, undone: undone ?? null },
    }
  })
}

/** The names of revisions that are not applied yet, by service. */
export async function pendingByService(url: string, internalKey: string) {
  const pairs = services.map(async (service) => [
    service,
    await pendingMigrations({
      url: roleUrl(url, service, internalKey),
      schema: service,
      folders: [busMigrations, folders[service]],
    }),
  ])
  return Object.fromEntries(await Promise.all(pairs)) as Record<Service, string[]>
}
