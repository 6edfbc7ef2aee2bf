import type { OwnSettings } from '@guildhall/contracts/knowledge'
import type { Trx } from '../db.ts'

/** What an org set itself, under its lock, so that two who change it at once both count. */
export async function lockSettings(trx: Trx, org_id: number): Promise<OwnSettings> {
  await trx
    .insertInto('settings')
    .values({ org_id, own: '{}' })
    .onConflict((on) => on.column('org_id').doNothing())
    .execute()
  const { own } = await trx
    .selectFrom('settings')
    .select('own')
    .where('org_id', '=', org_id)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return own
}

export async function storeSettings(trx: Trx, org_id: number, own: OwnSettings) {
  await trx
    .updateTable('settings')
    .set({ own: JSON.stringify(own) })
    .where('org_id', '=', org_id)
    .execute()
}
