import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import { actorOf } from '@guildhall/contracts/event'
import {
  deleteSource,
  getSource,
  listSources,
  putSource,
  type SourceBody,
  type SourceFilters,
  sourceDeleted,
} from '@guildhall/contracts/knowledge'
import {
  deleteOrgSource,
  getOrgSource,
  listOrgSources,
} from '@guildhall/contracts/knowledge-dashboard'
import type { OrgRef } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import { pageOf } from '@guildhall/service/paging'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { deleteSourceRows, sourceByKey, sourcesOfOrg } from './queries.ts'
import { checkChunks, checkPublisher, hashOf, inOrder, mayPublish, noSource } from './rules.ts'
import { type Draft, writeSource } from './write.ts'

export function sourceRoutes(app: App, deps: Deps) {
  const { config } = deps

  app.implement(listSources, ({ org, query }) => pageOfSources(deps, org, query))
  app.implement(listOrgSources, async ({ org, query }) => ({
    ...(await pageOfSources(deps, org, query)),
    publisher: mayPublish(org, config.KNOWLEDGE_PUBLISHERS),
  }))

  app.implement(getSource, ({ org, params }) => knownSource(deps, org, params.key))
  app.implement(getOrgSource, ({ org, params }) => knownSource(deps, org, params.key))

  app.implement(putSource, async ({ org, params, body, caller }, reply) => {
    checkPublisher(body, org, config.KNOWLEDGE_PUBLISHERS)
    checkChunks(body)
    const by = { source: 'http' as const, ...actorOf(caller) }
    const { source, changed } = await writeSource(deps, org, draftOf(params.key, body), by)
    return reply.code(changed ? 201 : 200).send({ source })
  })

  app.implement(deleteSource, ({ org, params, caller }) =>
    deleteKnown(deps, org, params.key, caller),
  )
  app.implement(deleteOrgSource, ({ org, params, caller }) =>
    deleteKnown(deps, org, params.key, caller),
  )
}

async function pageOfSources(
  { db }: Deps,
  org: OrgRef,
  { limit, cursor, category }: z.output<typeof SourceFilters>,
) {
  const filters = { org_id: org.id, category }
  const { items, next_cursor } = await pageOf(
    { limit, cursor, bound: ['sources', filters] },
    (page) => sourcesOfOrg(db, filters, page),
    ({ key }) => key,
  )
  return { sources: items, next_cursor }
}

async function knownSource({ db }: Deps, org: OrgRef, key: string) {
  const source = await sourceByKey(db, org.id, key)
  if (!source) throw noSource(key)
  return { source }
}

async function deleteKnown(
  { db, indexer, log }: Deps,
  org: OrgRef,
  key: string,
  caller: Caller,
): Promise<{ deleted: true }> {
  const id = await db.transaction().execute(async (trx) => {
    const gone = await deleteSourceRows(trx, org.id, key)
    if (gone) await enqueue(trx, audit(sourceDeleted, caller, org, { key }))
    return gone
  })
  if (!id) throw noSource(key)
  await indexer
    .settle(id)
    .catch((error) => log.warn({ err: error }, 'A deleted source stays in the index for now'))
  return { deleted: true }
}

function draftOf(key: string, body: SourceBody): Draft {
  const { category, title, url, embedding_model, content_hash = hashOf(body) } = body
  const chunks = inOrder(body.chunks)
  const carried = chunks.flatMap(({ embedding }) =>
    embedding ? [Float32Array.from(embedding)] : [],
  )
  return {
    key,
    category,
    title,
    url,
    public: body.public,
    content_hash,
    passages: chunks.map(({ embedding, ...passage }) => passage),
    vectors: embedding_model && carried.length > 0 ? { model: embedding_model, of: carried } : null,
  }
}
