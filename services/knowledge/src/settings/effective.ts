import type { KnowledgeSettings, OwnSettings } from '@guildhall/contracts/knowledge'
import type { Config } from '../config.ts'
import type { Db } from '../db.ts'

/** What holds where an org set nothing (interface.md, Org knowledge settings). */
export const defaultSettings = (config: Config): KnowledgeSettings => ({
  chunk_chars: config.KNOWLEDGE_CHUNK_CHARS,
  chunk_overlap: 0,
  mode: 'hybrid',
  top_k: 8,
  window: 0,
  max_distance: config.KNOWLEDGE_MAX_DISTANCE,
  rrf_k: 60,
})

/** What an org set itself. */
export async function ownSettings(db: Db, orgId: number): Promise<OwnSettings> {
  const row = await db
    .selectFrom('settings')
    .select('own')
    .where('org_id', '=', orgId)
    .executeTakeFirst()
  return row?.own ?? {}
}

/** What counts for an org: its own settings over the defaults. */
export async function settingsOf(
  { db, config }: { db: Db; config: Config },
  orgId: number,
): Promise<KnowledgeSettings> {
  return { ...defaultSettings(config), ...(await ownSettings(db, orgId)) }
}
