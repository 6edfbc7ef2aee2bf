import type { NewOrg, OrgSettings, putBranding } from '@guildhall/contracts/orgs'
import { notFound } from '@guildhall/service/errors'
import { sql } from 'kysely'
import type { z } from 'zod'
import type { Db, OrgRow, Trx } from '../db.ts'

export function orgById(db: Db, id: number): Promise<OrgRow | undefined> {
  return activeOrgs(db).where('id', '=', id).executeTakeFirst()
}

/** The active org. Throws the answer for routes that are none where it has just been deactivated. */
export async function knownOrg(db: Db, id: number): Promise<OrgRow> {
  const row = await orgById(db, id)
  if (!row) throw notFound()
  return row
}

export function orgByPrefix(db: Db, prefix: string): Promise<OrgRow | undefined> {
  return activeOrgs(db).where('prefix', '=', prefix).executeTakeFirst()
}

/** The active org of a chat server. */
export function orgOfServer(db: Db, serverId: string): Promise<OrgRow | undefined> {
  return activeOrgs(db).where('chat_server_id', '=', serverId).executeTakeFirst()
}

/** Every active org. */
export function allOrgs(db: Db): Promise<OrgRow[]> {
  return activeOrgs(db).orderBy('id').execute()
}

/**
 * The active orgs on whose server somebody was at their last sign-in, the only ones of which they can be an officer; all
 * where no sign-in told.
 */
export function orgsOfPerson(db: Db, chatUserId: string): Promise<OrgRow[]> {
  return activeOrgs(db)
    .where(
      sql<boolean>`coalesce((select chat_server_id = any (server_ids) from chat_servers
        where chat_user_id = ${chatUserId}), true)`,
    )
    .orderBy('id')
    .execute()
}

const activeOrgs = (db: Db) => db.selectFrom('orgs').selectAll().where('active', '=', true)

/** Inserts an org, or nothing where its prefix or chat server is taken. */
export function insertOrg(
  trx: Trx,
  { off, ...org }: z.output<typeof NewOrg>,
): Promise<OrgRow | undefined> {
  return trx
    .insertInto('orgs')
    .values({ ...org, modules_off: off })
    .onConflict((on) => on.doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** The active org under its lock, so that two who change it at once both count. Throws as `knownOrg` does. */
export async function lockOrg(trx: Trx, id: number): Promise<OrgRow> {
  const row = await activeOrgs(trx).where('id', '=', id).forUpdate().executeTakeFirst()
  if (!row) throw notFound()
  return row
}

/** The org under its lock, active or not. */
export function lockAnyOrg(trx: Trx, id: number): Promise<OrgRow | undefined> {
  return trx.selectFrom('orgs').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

export function lockOrgByPrefix(trx: Trx, prefix: string): Promise<OrgRow | undefined> {
  return trx
    .selectFrom('orgs')
    .selectAll()
    .where('prefix', '=', prefix)
    .forUpdate()
    .executeTakeFirst()
}

export async function orgExists(db: Db, id: number): Promise<boolean> {
  const row = await db.selectFrom('orgs').select('id').where('id', '=', id).executeTakeFirst()
  return row !== undefined
}

/** Every org, deactivated ones too. */
export function everyOrg(db: Db): Promise<OrgRow[]> {
  return db.selectFrom('orgs').selectAll().orderBy('id').execute()
}

/** Orgs with this prefix or on this chat server, active or not: two at most. */
export function orgsLike(
  db: Db,
  { prefix, chat_server_id }: { prefix?: string | undefined; chat_server_id?: string },
): Promise<OrgRow[]> {
  return db
    .selectFrom('orgs')
    .selectAll()
    .where((where) =>
      where.or([
        ...(prefix === undefined ? [] : [where('prefix', '=', prefix)]),
        ...(chat_server_id === undefined ? [] : [where('chat_server_id', '=', chat_server_id)]),
      ]),
    )
    .execute()
}

/** Ids of the orgs on these chat servers, active or not. */
export function orgsOfServers(db: Db, serverIds: string[]) {
  return db
    .selectFrom('orgs')
    .select(['id', 'chat_server_id'])
    .where('chat_server_id', '=', sql<string>`any(${serverIds}::text[])`)
    .execute()
}

interface Page {
  before: string | undefined
  limit: number
}

/** Up to `limit` orgs after the one with the id `before`, deactivated ones too. */
export function orgPage(db: Db, page: Page): Promise<OrgRow[]> {
  return paged(db.selectFrom('orgs').selectAll(), page).execute()
}

/** The same of the active orgs that are marked as publishers. */
export function publisherPage(db: Db, page: Page): Promise<OrgRow[]> {
  return paged(activeOrgs(db).where('publisher', '=', true), page).execute()
}

function paged(query: ReturnType<typeof activeOrgs>, { before, limit }: Page) {
  const page = query.orderBy('id').limit(limit)
  return before === undefined ? page : page.where('id', '>', Number(before))
}

/** Ids of the active orgs that are marked as publishers or have one of these prefixes. */
export async function publisherIds(db: Db, prefixes: string[]): Promise<number[]> {
  const rows = await db
    .selectFrom('orgs')
    .select('id')
    .where('active', '=', true)
    .where((where) =>
      where.or([
        where('publisher', '=', true),
        where('prefix', '=', sql<string>`any(${prefixes}::text[])`),
      ]),
    )
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Changes only the fields given. */
export function updateOrg(
  trx: Trx,
  id: number,
  change: Partial<z.output<typeof OrgSettings>> &
    z.output<(typeof putBranding)['body']> &
    Partial<Pick<OrgRow, 'modules_off' | 'active' | 'officer_role_id' | 'prefix' | 'publisher'>>,
) {
  const set = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  return trx
    .updateTable('orgs')
    .set(set)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}
