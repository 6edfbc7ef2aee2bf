import { createSealer } from '@guildhall/outbound/sealed'
import { sql } from 'kysely'
import type { Config } from '../config.ts'
import type { Db, SecretMark, SecretRow, Trx } from '../db.ts'

/** Seals and opens the secrets of orgs, each for its org and name. */
export const secretSealer = ({ SECRETS_KEY }: Config) => createSealer(SECRETS_KEY, 'auth.secrets')

/** The names of the secrets that an org has. */
export async function secretNames(db: Db, org_id: number): Promise<string[]> {
  const rows = await db
    .selectFrom('secrets')
    .select('name')
    .where('org_id', '=', org_id)
    .orderBy('name')
    .execute()
  return rows.map(({ name }) => name)
}

/** What officers see of the secrets that an org has: no value. */
export function secretMarks(db: Db, org_id: number): Promise<SecretMark[]> {
  return db
    .selectFrom('secrets')
    .select(['name', 'updated_at', 'updated_by'])
    .where('org_id', '=', org_id)
    .orderBy('name')
    .execute()
}

/** The sealed values of those of the named secrets that are set. */
export function sealedSecrets(db: Db, org_id: number, names: readonly string[]) {
  return db
    .selectFrom('secrets')
    .select(['name', 'sealed_value'])
    .where('org_id', '=', org_id)
    .where('name', '=', sql<string>`any(${names}::text[])`)
    .execute()
}

/** Sets a secret; `made` is false where it replaced a value. */
export async function storeSecret(trx: Trx, row: SecretRow) {
  const { sealed_value, updated_at, updated_by } = row
  return trx
    .insertInto('secrets')
    .values(row)
    .onConflict((on) =>
      on.columns(['org_id', 'name']).doUpdateSet({ sealed_value, updated_at, updated_by }),
    )
    .returning(['name', 'updated_at', 'updated_by'])
    .returning(sql<boolean>`xmax = 0`.as('made')) // zero in a row that no update has touched
    .executeTakeFirstOrThrow()
}

/** Removes a secret and answers whether it was set. */
export async function removeSecret(trx: Trx, org_id: number, name: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('secrets')
    .where('org_id', '=', org_id)
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
