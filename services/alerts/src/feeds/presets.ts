import { ask } from '@guildhall/bus/calls'
import { listPresets } from '@guildhall/contracts/alerts'
import { listPackFeeds } from '@guildhall/contracts/pack-feeds'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { feedsOf } from './queries.ts'

export function presetRoutes(app: App, { db, bus }: Deps) {
  app.implement(listPresets, async ({ org }) => {
    const [{ feeds }, own] = await Promise.all([ask(bus, listPackFeeds, {}), feedsOf(db, org.id)])
    const keys = new Set(own.map(({ key }) => key))
    return { presets: feeds.map((feed) => ({ ...feed, added: keys.has(feed.key) })) }
  })
}
