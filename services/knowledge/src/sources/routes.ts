import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  deleteSource,
  getSource,
  listSources,
  putSource,
  sourceDeleted,
} from '@guildhall/contracts/knowledge'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { pageOf } from '@guildhall/service/paging'
import type { Deps } from '../deps.ts'
import { removeRows } from './indexing.ts'
import { deleteSourceOf, listSourcesOf, readSource } from './queries.ts'
import { checkChunks, checkPublic, contentHash } from './rules.ts'
import { vectorsOf } from './vectors.ts'
import { writeSource } from './write.ts'

export function sourceRoutes(app: App, deps: Deps) {
  const { db, config, log } = deps

  app.implement(listSources, async ({ org, query: { limit, cursor, category } }) => {
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['sources', org.id, category] },
      (page) => listSourcesOf(db, org.id, { ...page, category }),
      ({ key }) => key,
    )
    return { sources: items, next_cursor }
  })

  app.implement(getSource, async ({ org, params }) => ({ source: await known(org.id, params.key) }))

  app.implement(putSource, async ({ org, caller, params: { key }, body }, reply) => {
    checkPublic(body.public, org, config.KNOWLEDGE_PUBLISHERS)
    checkChunks(body)
    const { content_hash = contentHash(body), chunks, ...labels } = body
    const vectors = () => vectorsOf(deps.embedder, body)
    const changed = await writeSource(deps, org, caller, {
      ...labels,
      key,
      content_hash,
      chunks,
      vectors,
    })
    return reply.code(changed ? 201 : 200).send({ source: await known(org.id, key) })
  })

  app.implement(deleteSource, async ({ org, caller, params: { key } }) => {
    const versions = await db.transaction().execute(async (trx) => {
      const ids = await deleteSourceOf(trx, org.id, key)
      if (ids) await enqueue(trx, audit(sourceDeleted, caller, org, { key }))
      return ids
    })
    if (!versions) throw unknown(key)
    // searches do not find it any more; if its rows cannot leave the index now, the job takes them out
    await removeRows(deps, org.id, versions).catch((error) =>
      log.warn({ err: error, key }, 'Index rows of a deleted source stay for the job'),
    )
    return { deleted: true }
  })

  async function known(orgId: number, key: string) {
    const source = await readSource(db, orgId, key)
    if (!source) throw unknown(key)
    return source
  }
}

const unknown = (key: string) =>
  new AppError('not_found', 'source.not_found', `There is no source ${key}`)
