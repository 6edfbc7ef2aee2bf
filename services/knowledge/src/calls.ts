import { answer } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { tellSections } from '@guildhall/contracts/dashboard'
import { embedTexts } from '@guildhall/contracts/embeddings'
import { findRebuild } from '@guildhall/contracts/knowledge'
import { findKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import { tellProblems } from '@guildhall/contracts/notifications'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { listPackFeeds } from '@guildhall/contracts/pack-feeds'
import { tellTrends } from '@guildhall/contracts/trends'
import type { Deps } from './deps.ts'
import { embedFor } from './embeddings/embed.ts'
import { rebuildProgress } from './indexing/rebuild.ts'
import { problemsOf, sectionsOf, trendsOf } from './settings/dashboard.ts'
import { ownSettings } from './settings/effective.ts'
import { purgeSources } from './sources/purge.ts'

/** What knowledge answers over NATS. */
export function answerCalls(bus: Bus, deps: Deps) {
  answer(bus, purgeOrgOf('knowledge'), async ({ org_id }) => {
    await purgeSources(deps, org_id)
    return {}
  })
  answer(bus, tellSections('knowledge'), ({ org_id }) => sectionsOf(deps.db, org_id))
  answer(bus, tellTrends('knowledge'), ({ org_id, since }) => trendsOf(deps.db, org_id, since))
  answer(bus, tellProblems('knowledge'), async ({ org_id }) => ({
    problems: await problemsOf(deps.db, org_id),
  }))
  answer(bus, findKnowledgeSettings, async ({ org_id }) => ({
    own: await ownSettings(deps.db, org_id),
  }))
  answer(bus, embedTexts, async (asked) => ({ embedded: await embedFor(deps, asked) }))
  answer(bus, listPackFeeds, async () => ({
    feeds: deps.packs.flatMap(({ name, feeds }) => feeds.map((feed) => ({ pack: name, ...feed }))),
  }))
  answer(bus, findRebuild, async () => ({ rebuild: await rebuildProgress(deps.db) }))
}
