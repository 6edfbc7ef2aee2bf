import { audit, enqueue } from '@guildhall/bus/outbox'
import type { OwnSettings } from '@guildhall/contracts/knowledge'
import {
  getKnowledgeSettings,
  knowledgeSettingsChanged,
  putKnowledgeSettings,
} from '@guildhall/contracts/knowledge-settings'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { defaultSettings, ownSettings } from './effective.ts'
import { lockSettings, storeSettings } from './queries.ts'
import { changedSettings } from './rules.ts'

export function settingsRoutes(app: App, { db, config, embedderOf }: Deps) {
  const defaults = defaultSettings(config)
  const shown = (own: OwnSettings, embedder: { model: string } | undefined) => ({
    settings: { ...defaults, ...own },
    defaults,
    embeddings: { configured: embedder !== undefined, model: embedder?.model ?? null },
  })

  app.implement(getKnowledgeSettings, async ({ org }) => {
    const [own, embedder] = await Promise.all([ownSettings(db, org.id), embedderOf(org.id)])
    return shown(own, embedder)
  })

  app.implement(putKnowledgeSettings, async ({ org, body, caller }) => {
    const embedder = await embedderOf(org.id) // first, as a failure must leave everything as it was
    const own = await db.transaction().execute(async (trx) => {
      const after = changedSettings(await lockSettings(trx, org.id), body, defaults)
      await storeSettings(trx, org.id, after)
      await enqueue(
        trx,
        audit(knowledgeSettingsChanged, caller, org, { fields: Object.keys(body) }),
      )
      return after
    })
    return shown(own, embedder)
  })
}
