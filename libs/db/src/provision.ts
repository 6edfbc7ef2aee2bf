import { setTimeout as wait } from 'node:timers/promises'
import { AppError } from '@guildhall/service/errors'
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

/** Whose the role of a service is where INTERNAL_KEY does not give its password. */
export interface ProvisionOptions {
  /**
   * The role of this database is the caller's own, and gets the password of a new INTERNAL_KEY: right for a start,
   * wrong for a command, whose key may be that of another deployment.
   */
  newKey?: 'accepted'
}

/**
 * Makes the role and schema of a service. Runs as the owner of the database and may run in many processes at once.
 * The role can do nothing outside its schema. Throws `database.other_deployment` where the role is another's.
 */
export async function provision(
  ownerUrl: string,
  service: string,
  internalKey: string,
  options: ProvisionOptions = {},
) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await inTransaction(ownerUrl, async (client) => {
        await ownRole(client, { ownerUrl, service, internalKey, ...options })
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
  const role = { ownerUrl, service, internalKey }
  await inTransaction(ownerUrl, async (client) => {
    if ((await isThere(client, service)) && !(await fits(role))) await refuseUsed(client, role)
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
/** SQLSTATE invalid_password. */
const BAD_PASSWORD = '28P01'

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

interface Role extends ProvisionOptions {
  ownerUrl: string
  service: string
  internalKey: string
}

/**
 * Makes the role. One that is there keeps its password where the key gives it; it belongs to the whole server, and a new
 * password would lock out every other deployment on it.
 */
async function ownRole(client: Client, role: Role) {
  const name = escapeIdentifier(roleOf(role.service))
  const login = `login password ${escapeLiteral(rolePassword(role.internalKey, role.service))}`
  if (!(await isThere(client, role.service))) {
    await client.query(`create role ${name} ${login}`)
    return
  }
  if (await fits(role)) return
  // altered first: who comes to use the role from now on waits for us, or fails and tries again
  await client.query(`alter role ${name} ${login}`)
  await refuseUsed(client, role)
}

async function isThere(client: Client, service: string) {
  const found = await client.query('select from pg_roles where rolname = $1', [roleOf(service)])
  return found.rowCount === 1
}

/** Whether the key gives the role's password. */
async function fits({ ownerUrl, service, internalKey }: Role) {
  const url = roleUrl(ownerUrl, service, internalKey)
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code !== BAD_PASSWORD) throw error
    return false
  } finally {
    await client.end()
  }
}

/** Throws where a database needs the role as it is: another one, or this one unless its new key is accepted. */
async function refuseUsed(client: Client, { service, newKey }: Role) {
  const { rows } = await client.query<{ name: string; ours: boolean }>(
    `select distinct d.datname as name, d.datname = current_database() as ours
      from pg_shdepend s join pg_database d on d.oid = s.dbid join pg_roles r on r.oid = s.refobjid
      where s.refclassid = 'pg_authid'::regclass and r.rolname = $1 order by 2, 1`,
    [roleOf(service)],
  )
  const used = rows.find(({ ours }) => !(ours && newKey))
  if (!used) return
  const does = used.ours
    ? 'Set the INTERNAL_KEY (or GUILDHALL_HOME) that this database belongs to. If the key was changed, start Guildhall with the new one first'
    : 'Roles belong to the whole server: give each deployment a Postgres server of its own'
  const message = `The role ${roleOf(service)} has another password than INTERNAL_KEY gives, and the database ${used.name} uses it. ${does}. Nothing was changed`
  throw new AppError('conflict', 'database.other_deployment', message)
}
