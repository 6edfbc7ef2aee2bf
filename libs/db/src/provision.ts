import { hkdfSync } from 'node:crypto'
import { Client, escapeIdentifier, escapeLiteral } from 'pg'

/** The password of a service's own role where no URL of its own is set (HKDF of INTERNAL_KEY and its name). */
export function rolePassword(internalKey: string, service: string): string {
  return Buffer.from(
    hkdfSync('sha256', internalKey, 'guildhall', `postgres:${service}`, 24),
  ).toString('base64url')
}

/** The URL by which a service reaches its own schema: the owner's, with its own role and password. */
export function roleUrl(ownerUrl: string, service: string, internalKey: string): string {
  const url = new URL(ownerUrl)
  url.username = roleOf(service)
  url.password = rolePassword(internalKey, service)
  return url.href
}

const roleOf = (service: string) => `guildhall_${service}`

/**
 * Makes the role and schema of a service, or brings the password up to date. Runs as the owner of the
 * database and may run in many processes at once. The role can do nothing outside its schema.
 */
export async function provision(ownerUrl: string, service: string, internalKey: string) {
  const client = new Client({ connectionString: ownerUrl, connectionTimeoutMillis: 5_000 })
  await client.connect()
  const role = escapeIdentifier(roleOf(service))
  const password = escapeLiteral(rolePassword(internalKey, service))
  try {
    await client.query('begin')
    // roles belong to the whole cluster, so the lock must too: advisory locks are per database
    await client.query(`select pg_advisory_xact_lock(hashtext('guildhall-provision'))`)
    await client.query(
      `do $$ begin create role ${role}; exception when duplicate_object or unique_violation then null; end $$`,
    )
    await client.query(`alter role ${role} login password ${password}`)
    await client.query(
      `create schema if not exists ${escapeIdentifier(service)} authorization ${role}`,
    )
    await client.query('commit')
  } finally {
    await client.end()
  }
}
