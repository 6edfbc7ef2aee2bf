import {
  LEGACY_PACK,
  listCampusQueries,
  listOrgPacks,
  listPackQueries,
  listPacks,
  type Pack,
  queryCampus,
  queryPack,
  syncCampus,
  syncOrgPack,
  syncPack,
} from '@guildhall/contracts/packs'
import type { OrgRef } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { askPack } from './live.ts'
import type { LoadedPack } from './loaded.ts'
import { countPages } from './queries.ts'
import { createReader } from './reader.ts'
import { packNamed, pagePrefix } from './rules.ts'
import { syncPackFor } from './sync.ts'

export function packRoutes(app: App, deps: Deps) {
  const asking = { ...deps, reader: createReader(deps) }

  app.implement(listPacks, ({ org }) => packsOf(deps, org))
  app.implement(listOrgPacks, ({ org }) => packsOf(deps, org))

  app.implement(listPackQueries, async ({ params }) => queriesOf(deps, params.pack))
  app.implement(listCampusQueries, async () => queriesOf(deps, LEGACY_PACK))

  app.implement(queryPack, ({ org, params, body }) =>
    askPack(asking, org, { ...body, pack: params.pack }),
  )
  app.implement(queryCampus, ({ org, body }) =>
    askPack(asking, org, { ...body, pack: LEGACY_PACK }),
  )

  app.implement(syncPack, ({ org, caller, params: { pack } }) =>
    syncPackFor(deps, { org, caller, pack, crawl: false }),
  )
  app.implement(syncCampus, ({ org, caller }) =>
    syncPackFor(deps, { org, caller, pack: LEGACY_PACK, crawl: false }),
  )
  app.implement(syncOrgPack, async ({ org, caller, params: { name: pack } }, reply) =>
    reply.code(202).send(await syncPackFor(deps, { org, caller, pack, crawl: true })),
  )
}

async function packsOf({ db, packs }: Deps, org: OrgRef): Promise<{ packs: Pack[] }> {
  const shown = packs.map(async (pack) => {
    const { name, title, description, lms_url, pages, feeds, unset } = pack
    const queries = pack.queries.map(shownQuery)
    const sources = await countPages(db, org.id, pagePrefix(name))
    return { name, title, description, lms_url, pages, queries, feeds, unset, sources }
  })
  return { packs: await Promise.all(shown) }
}

const queriesOf = ({ packs }: Deps, name: string) => ({
  queries: packNamed(packs, name).queries.map(shownQuery),
})

function shownQuery(query: LoadedPack['queries'][number]): Pack['queries'][number] {
  const { key, description, params, category, index, needs_js, needs_search } = query
  return { key, description, params, category, index, needs_js, needs_search }
}
