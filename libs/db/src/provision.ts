import { setTimeout as wait } from 'node:timers/promises'
import { derived } from '@guildhall/service/internal-key'
import { Client, escapeIdentifier } from 'pg'
import { fits, isThere, ownRole, type Role, type RoleOptions, refuseUsed } from './service-role.ts'

/** The password of a service's own role where no URL of its own is set. */
export const rolePassword = (internalKey: string, service: string) =>
  derived(internalKey, service, 'postgres', 24).toString('base64url')

/** The URL by which a service reaches its own schema: the owner's, with its own role and password. */
export function roleUrl(ownerUrl: string, service: string, internalKey: string): string {
  const url = new URL(ownerUrl)
  url.username = roleOf(service)
  url.password = rolePassword(internalKey, service)
  return url.href
}

/** Whether a URL is already that of the service's own role, so that nothing is to be made. */
export const isRoleUrl = (url: string, service: string) => new URL(url).username === roleOf(service)

const roleOf = (service: string) => `guildhall_${service}`

const roleBy = (ownerUrl: string, service: string, internalKey: string): Role => ({
  name: roleOf(service),
  password: rolePassword(internalKey, service),
  url: roleUrl(ownerUrl, service, internalKey),
})

/**
 * Makes the role and schema of a service. Runs as the owner of the database and may run in many processes at once.
 * The role can do nothing outside its schema. Throws `database.other_deployment` where the role is another's.
 */
export async function provision(
  ownerUrl: string,
  service: string,
  internalKey: string,
  options: RoleOptions = {},
) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await inTransaction(ownerUrl, async (client) => {
        await ownRole(client, { ...roleBy(ownerUrl, service, internalKey), ...options })
        const role = escapeIdentifier(roleOf(service))
        // an owner that is no superuser may give a schema only to a role that it could become
        await client.query(`grant ${role} to current_user`)
        await client.query(
          `create schema if not exists ${escapeIdentifier(service)} authorization ${role}`,
        )
      })
      return
    } catch (error) {
      if (!isOvertaken(error) || attempt === MOST_ATTEMPTS) throw error
    }
    await wait(Math.random() * MOST_WAIT_MS)
  }
}

/** Throws `database.other_deployment` where `provision` would, and changes nothing. */
export async function checkRole(ownerUrl: string, service: string, internalKey: string) {
  const role = roleBy(ownerUrl, service, internalKey)
  await inTransaction(ownerUrl, async (client) => {
    if ((await isThere(client, role.name)) && !(await fits(role.url)))
      await refuseUsed(client, role)
  })
}

/** Attempts against others that alter the same role at the same moment. */
const MOST_ATTEMPTS = 20
const MOST_WAIT_MS = 100

/**
 * Roles belong to the whole server and our lock to one database: "tuple concurrently updated" comes of it, or a role that
 * another has just made.
 */
const isOvertaken = (error: unknown) =>
  ['XX000', '42710', '23505'].includes(String((error as { code?: unknown }).code))

async function inTransaction(ownerUrl: string, work: (client: Client) => Promise<void>) {
  const client = new Client({ connectionString: ownerUrl, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {}) // the query under way rejects with it
  await client.connect()
  try {
    await client.query('begin')
    await client.query(`select pg_advisory_xact_lock(hashtext('guildhall-provision'))`)
    await work(client)
    await client.query('commit')
  } finally {
    await client.end()
  }
}
