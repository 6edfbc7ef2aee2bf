import { AuditEvent } from '@guildhall/contracts/event'
import type { Db } from '../db.ts'

/** Stores an event once, however often it is delivered. */
export async function storeAudit(db: Db, event: unknown) {
  const { created_at, details, ...row } = AuditEvent.parse(event)
  await db
    .insertInto('audit_entries')
    .values({ ...row, created_at: new Date(created_at), details: JSON.stringify(details) })
    .onConflict((on) => on.column('id').doNothing())
    .execute()
}
