import type { Db } from '../db.ts'

const DAY_MS = 86_400_000
/** How long what became of an import is kept. */
const IMPORTS_DAYS = 90

export async function pruneImports(db: Db, now: Date): Promise<void> {
  const before = new Date(now.getTime() - IMPORTS_DAYS * DAY_MS)
  await db.deleteFrom('imports').where('created_at', '<', before).execute()
}
