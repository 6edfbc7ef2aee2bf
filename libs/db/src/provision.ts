import { setTimeout as wait } from 'node:timers/promises'
import { derived } from '@guildhall/service/internal-key'
import { Client, escapeIdentifier, escapeLiteral } from 'pg'

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

/**
 * Makes the role and schema of a service, or brings the password up to date. Runs as the owner of the
 * database and may run in many processes at once. The role can do nothing outside its schema.
 */
export async function provision(ownerUrl: string, service: string, internalKey: string) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await tryToProvision(ownerUrl, service, internalKey)
      return
    } catch (error) {
      if (!isOvertaken(error) || attempt === MOST_ATTEMPTS) throw error
    }
    await wait(Math.random() * MOST_WAIT_MS)
  }
}

/** Attempts against others that alter the same role at the same moment. */
const MOST_ATTEMPTS = 20
const MOST_WAIT_MS = 100

/** Roles belong to the whole server and our lock to one database: "tuple concurrently updated" comes of it. */
const isOvertaken = (error: unknown) => (error as { code?: unknown }).code === 'XX000'

async function tryToProvision(ownerUrl: string, service: string, internalKey: string) {
  const client = new Client({ connectionString: ownerUrl, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {}) // the query under way rejects with it
  await client.connect()
  const role = escapeIdentifier(roleOf(service))
  const password = escapeLiteral(rolePassword(internalKey, service))
  try {
    await client.query('begin')
    await client.query(`select pg_advisory_xact_lock(hashtext('guildhall-provision'))`)
    await client.query(
      `do $$ begin create role ${role}; exception when duplicate_object or unique_violation then null; end $$`,
    )
    await client.query(`alter role ${role} login password ${password}`)
    // an owner that is no superuser may give a schema only to a role that it could become
    await client.query(`grant ${role} to current_user`)
    await client.query(
      `create schema if not exists ${escapeIdentifier(service)} authorization ${role}`,
    )
    await client.query('commit')
  } finally {
    await client.end()
  }
}
