import type { NewOrg, OrgSettings } from '@guildhall/contracts/orgs'
import type { z } from 'zod'
import type { Db, OrgRow, Trx } from '../db.ts'

export function orgById(db: Db, id: number): Promise<OrgRow | undefined> {
  return activeOrgs(db).where('id', '=', id).executeTakeFirst()
}

export function orgByPrefix(db: Db, prefix: string): Promise<OrgRow | undefined> {
  return activeOrgs(db).where('prefix', '=', prefix).executeTakeFirst()
}

export function allOrgs(db: Db): Promise<OrgRow[]> {
  return activeOrgs(db).orderBy('id').execute()
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

/** The org under its lock, so that two who switch modules at once both count. */
export function lockOrg(trx: Trx, id: number): Promise<OrgRow> {
  return trx
    .selectFrom('orgs')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirstOrThrow()
}

/** Changes only the fields given. */
export function updateOrg(
  trx: Trx,
  id: number,
  change: Partial<z.output<typeof OrgSettings> & { modules_off: string[] }>,
) {
  const set = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  return trx
    .updateTable('orgs')
    .set(set)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}
