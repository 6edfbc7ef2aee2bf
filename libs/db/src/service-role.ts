import { AppError } from '@guildhall/service/errors'
import { Client, escapeIdentifier, escapeLiteral } from 'pg'

/** What to do with a role that has another password than INTERNAL_KEY gives. */
export interface RoleOptions {
  /**
   * The role of this database is the caller's own, and gets the password of a new INTERNAL_KEY: right for a start,
   * wrong for a command, whose key may be that of another deployment.
   */
  newKey?: 'accepted'
}

export interface Role extends RoleOptions {
  name: string
  /** That INTERNAL_KEY gives. */
  password: string
  /** Of the database, by that name and password. */
  url: string
}

/** SQLSTATE invalid_password. */
const BAD_PASSWORD = '28P01'

/**
 * Makes the role. One that is there keeps its password where the key gives it; it belongs to the whole server, and a new
 * password would lock out every other deployment on it.
 */
export async function ownRole(client: Client, role: Role) {
  const { name, password, url } = role
  const login = `${escapeIdentifier(name)} login password ${escapeLiteral(password)}`
  if (!(await isThere(client, name))) {
    await client.query(`create role ${login}`)
    return
  }
  if (await fits(url)) return
  // altered first: who comes to use the role from now on waits for us, or fails and tries again
  await client.query(`alter role ${login}`)
  await refuseUsed(client, role)
}

/** Whether the server has the role. */
export async function isThere(client: Client, name: string) {
  const found = await client.query('select from pg_roles where rolname = $1', [name])
  return found.rowCount === 1
}

/** Whether the role takes the password in its URL. */
export async function fits(url: string) {
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
export async function refuseUsed(client: Client, { name, newKey }: Role) {
  const { rows } = await client.query<{ name: string; ours: boolean }>(
    `select distinct d.datname as name, d.datname = current_database() as ours
      from pg_shdepend s join pg_database d on d.oid = s.dbid join pg_roles r on r.oid = s.refobjid
      where s.refclassid = 'pg_authid'::regclass and r.rolname = $1 order by 2, 1`,
    [name],
  )
  const used = rows.find(({ ours }) => !(ours && newKey))
  if (!used) return
  const does = used.ours
    ? 'Set the INTERNAL_KEY (or GUILDHALL_HOME) that this database belongs to. If the key was changed, start Guildhall with the new one first'
    : 'Roles belong to the whole server: give each deployment a Postgres server of its own'
  const message = `The role ${name} has another password than INTERNAL_KEY gives, and the database ${used.name} uses it. ${does}. Nothing was changed`
  throw new AppError('conflict', 'database.other_deployment', message)
}
