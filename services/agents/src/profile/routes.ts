import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  addFacts,
  deleteNodes,
  deleteRelation,
  findSimilarNodes,
  getProfile,
  matchRelations,
  nodesDeleted,
  relationDeleted,
} from '@guildhall/contracts/agent-profile'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { pageOf } from '@guildhall/service/paging'
import type { Deps } from '../deps.ts'
import { lockOwner, ownerOf } from '../owner.ts'
import { storeFacts } from './facts.ts'
import {
  matchingRelations,
  profileFrom,
  profilePage,
  removeNodes,
  removeRelation,
} from './queries.ts'
import { similarNodes } from './similar.ts'

export function profileRoutes(app: App, deps: Deps) {
  const { db, now } = deps

  app.implement(getProfile, async ({ org, params, query: { limit, cursor } }) => {
    const owner = ownerOf(org, params.chat_user_id)
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['profile', owner] },
      (page) => profilePage(db, owner, page),
      ({ key }) => key,
    )
    return { ...profileFrom(items), next_cursor }
  })

  app.implement(addFacts, async ({ org, params, body: { facts } }) => {
    const owner = ownerOf(org, params.chat_user_id)
    const stored = await db.transaction().execute(async (trx) => {
      await lockOwner(trx, owner)
      return storeFacts(trx, owner, facts, now())
    })
    return { stored }
  })

  app.implement(matchRelations, async ({ org, params, query }) => {
    const owner = ownerOf(org, params.chat_user_id)
    const { limit, cursor, subject, relation } = query
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['matching', owner, subject, relation] },
      (page) => matchingRelations(db, owner, { subject, relation }, page),
    )
    return { relations: items.map(({ shown }) => shown), next_cursor }
  })

  app.implement(findSimilarNodes, async ({ org, params, query }) => {
    const nodes = await similarNodes(deps, ownerOf(org, params.chat_user_id), query)
    if (!nodes) throw noEmbedder()
    return { nodes }
  })

  app.implement(deleteRelation, async ({ org, params: { chat_user_id }, body, caller }) => {
    const owner = ownerOf(org, chat_user_id)
    await db.transaction().execute(async (trx) => {
      await lockOwner(trx, owner)
      if (!(await removeRelation(trx, owner, body))) throw noRelation()
      await enqueue(trx, audit(relationDeleted, caller, org, { chat_user_id }))
    })
    return { deleted: true }
  })

  app.implement(deleteNodes, async ({ org, params, query: { label }, caller }) => {
    const { chat_user_id } = params
    const owner = ownerOf(org, chat_user_id)
    const deleted = await db.transaction().execute(async (trx) => {
      await lockOwner(trx, owner)
      const nodes = await removeNodes(trx, owner, label)
      if (nodes > 0) await enqueue(trx, audit(nodesDeleted, caller, org, { chat_user_id, nodes }))
      return nodes
    })
    return { deleted }
  })
}

const noEmbedder = () =>
  new AppError(
    'unavailable',
    'embeddings.unset',
    "The org has no embedder, so nothing can be compared by meaning. An officer sets one under the org's integrations, or the operator sets EMBEDDINGS_URL.",
  )

const noRelation = () =>
  new AppError('not_found', 'relation.not_found', 'The profile has no such relation')
