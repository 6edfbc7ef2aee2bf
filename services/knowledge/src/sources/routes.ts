import { audit, enqueue } from '@guildhall/bus/outbox'
import { actorOf } from '@guildhall/contracts/event'
import {
  deleteSource,
  getSource,
  listSources,
  putSource,
  type SourceBody,
  sourceDeleted,
} from '@guildhall/contracts/knowledge'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { pageOf } from '@guildhall/service/paging'
import type { Deps } from '../deps.ts'
import { deleteSourceRows, sourceByKey, sourcesOfOrg } from './queries.ts'
import { checkChunks, checkPublisher, hashOf, inOrder } from './rules.ts'
import { type Draft, writeSource } from './write.ts'

export function sourceRoutes(app: App, deps: Deps) {
  const { db, config, indexer, log } = deps

  app.implement(listSources, async ({ org, query: { limit, cursor, category } }) => {
    const filters = { org_id: org.id, category }
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['sources', filters] },
      (page) => sourcesOfOrg(db, filters, page),
      ({ key }) => key,
    )
    return { sources: items, next_cursor }
  })

  app.implement(getSource, async ({ org, params: { key } }) => {
    const source = await sourceByKey(db, org.id, key)
    if (!source) throw noSource(key)
    return { source }
  })

  app.implement(putSource, async ({ org, params, body, caller }, reply) => {
    checkPublisher(body, org, config.KNOWLEDGE_PUBLISHERS)
    checkChunks(body)
    const by = { source: 'http' as const, ...actorOf(caller) }
    const { source, changed } = await writeSource(deps, org, draftOf(params.key, body), by)
    return reply.code(changed ? 201 : 200).send({ source })
  })

  app.implement(deleteSource, async ({ org, params: { key }, caller }) => {
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
  })
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

const noSource = (key: string) =>
  new AppError('not_found', 'source.not_found', `The org has no source ${key}`)
