import { queueJob } from '@guildhall/bus/jobs'
import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import { crawlDue } from '@guildhall/contracts/knowledge-crawls'
import { packSynced, type Synced } from '@guildhall/contracts/packs'
import type { OrgRef } from '@guildhall/contracts/route'
import { defineIn } from '../crawls/define.ts'
import type { Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { mayPublish } from '../sources/rules.ts'
import type { LoadedPack } from './loaded.ts'
import { lockPage, retireOthers, unretire } from './queries.ts'
import { packNamed, pagePrefix } from './rules.ts'

interface Syncing {
  org: OrgRef
  caller: Caller
  pack: string
  /** What is due is crawled at once. */
  crawl: boolean
}

/**
 * Makes the pages of a pack crawled sources of the org, all or none, and turns off those that left the pack. Again it writes nothing.
 * Throws AppError('conflict', 'crawl.other_source') where a key of the pack is of a source that was written or uploaded.
 */
export async function syncPackFor(deps: Deps, { org, caller, ...asked }: Syncing): Promise<Synced> {
  const { db, indexer, log, now, config } = deps
  const pack = packNamed(deps.packs, asked.pack)
  const open = mayPublish(org, config.KNOWLEDGE_PUBLISHERS)
  const { synced, changed } = await db.transaction().execute(async (trx) => {
    const done = await definePages(trx, { org, pack, open, now: now() })
    const prefix = pagePrefix(pack.name)
    const keys = pack.pages.map(({ key }) => prefix + key)
    const retired = await retireOthers(trx, org.id, { prefix, keys })
    const result = { added: done.added, updated: done.changed.length, retired }
    if (result.added + result.updated + retired > 0 || asked.crawl) {
      const said = { ...result, pack: pack.name, crawled: asked.crawl }
      await enqueue(trx, audit(packSynced, caller, org, said))
    }
    if (asked.crawl) await queueJob(trx, crawlDue, {})
    return { synced: result, changed: done.changed }
  })
  for (const id of changed)
    await indexer
      .settle(id)
      .catch((error) => log.warn({ err: error }, 'Labels of a source reach the index later'))
  return synced
}

interface Defining {
  org: OrgRef
  pack: LoadedPack
  open: boolean
  now: Date
}

/** In the order of their keys, so that two at once wait for each other. A page that an officer turned off stays off. */
async function definePages(trx: Trx, { org, pack, open, now }: Defining) {
  let added = 0
  const changed: string[] = []
  const pages = pack.pages.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  for (const { key: own, needs_js: _, ...page } of pages) {
    const key = pagePrefix(pack.name) + own
    const before = await lockPage(trx, org.id, key)
    const enabled = before === undefined || before.enabled || before.retired
    const wanted = { ...page, public: open, enabled }
    const { id, did } = await defineIn(trx, { org, key, wanted, now })
    if (before?.retired) await unretire(trx, id)
    if (did === 'made') added++
    if (did === 'changed') changed.push(id)
  }
  return { added, changed }
}
