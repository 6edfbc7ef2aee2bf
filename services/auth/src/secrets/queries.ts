import { createSealer } from '@guildhall/outbound/sealed'
import { sql } from 'kysely'
import type { Config } from '../config.ts'
import type { Db, SecretRow, Trx } from '../db.ts'

/** Seals and opens the secrets of orgs, each for its org and name. */
export const secretSealer = ({ SECRETS_KEY }: Config) => createSealer(SECRETS_KEY, 'auth.secrets')

export function secretsOf(db: Db, org_id: number): Promise<SecretRow[]> {
  return db.selectFrom('secrets').selectAll().where('org_id', '=', org_id).orderBy('name').execute()
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
    .returningAll()
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
