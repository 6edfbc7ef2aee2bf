import { Readable } from 'node:stream'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { conversationDeleted } from '@guildhall/contracts/agent-conversations'
import { memoryDeleted } from '@guildhall/contracts/agent-memories'
import {
  deleteHeld,
  deleteMyConversation,
  deleteMyMemory,
  exportHeld,
  heldDeleted,
  heldExported,
  listHeld,
} from '@guildhall/contracts/agent-self'
import type { App } from '@guildhall/service/app'
import { deleteConversation } from '../conversations/queries.ts'
import { noConversation } from '../conversations/rules.ts'
import type { Deps } from '../deps.ts'
import { deleteOne, memoriesOf } from '../memories/queries.ts'
import { noMemory } from '../memories/routes.ts'
import { purgeMember } from '../orgs/purge.ts'
import { lockOwner, ownerOf } from '../owner.ts'
import { pendingOf } from '../pending/queries.ts'
import { bestOfProfile } from '../profile/queries.ts'
import { exported } from './export.ts'
import { countsOf, newestConversations } from './queries.ts'
import { shownAction, shownConversation } from './shown.ts'

/** Of each list; the export has all. */
const MOST_SHOWN = 500

export function selfRoutes(app: App, deps: Deps) {
  const { db, now } = deps

  app.implement(listHeld, async ({ org, caller }) => {
    const owner = ownerOf(org, caller.chat_user_id)
    const [counts, conversations, memories, profile, pending] = await Promise.all([
      countsOf(db, owner),
      newestConversations(db, owner, MOST_SHOWN),
      memoriesOf(deps, owner, { kinds: undefined, limit: MOST_SHOWN, now: now() }),
      bestOfProfile(db, owner, MOST_SHOWN),
      pendingOf(db, owner, MOST_SHOWN),
    ])
    return {
      counts,
      conversations: conversations.map(shownConversation),
      memories,
      profile,
      pending: pending.map((row) => shownAction(row, now())),
    }
  })

  app.implement(exportHeld, async ({ org, caller }, reply) => {
    const { chat_user_id } = caller
    await db
      .transaction()
      .execute((trx) => enqueue(trx, audit(heldExported, caller, org, { chat_user_id })))
    const about = { organization: { prefix: org.prefix, name: org.name }, chat_user_id }
    const pieces = exported(deps, ownerOf(org, chat_user_id), about)
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .header('content-disposition', `attachment; filename="${org.prefix}-agents.json"`)
      .code(200)
      .send(Readable.from(pieces, { objectMode: false }))
  })

  app.implement(deleteHeld, async ({ org, caller }) => {
    const { chat_user_id } = caller
    const owner = ownerOf(org, chat_user_id)
    const deleted = await db.transaction().execute(async (trx) => {
      await lockOwner(trx, owner)
      const rows = await purgeMember(trx, owner)
      await enqueue(trx, audit(heldDeleted, caller, org, { chat_user_id, rows }))
      return rows
    })
    return { deleted }
  })

  app.implement(deleteMyConversation, async ({ org, params: { conversation_id }, caller }) => {
    const { chat_user_id } = caller
    await db.transaction().execute(async (trx) => {
      const owner = ownerOf(org, chat_user_id)
      if (!(await deleteConversation(trx, owner, conversation_id))) throw noConversation()
      const said = { conversation_id, chat_user_id }
      await enqueue(trx, audit(conversationDeleted, caller, org, said))
    })
    return { deleted: true }
  })

  app.implement(deleteMyMemory, async ({ org, params: { memory_id }, caller }) => {
    const { chat_user_id } = caller
    await db.transaction().execute(async (trx) => {
      if (!(await deleteOne(trx, ownerOf(org, chat_user_id), memory_id))) throw noMemory()
      await enqueue(trx, audit(memoryDeleted, caller, org, { chat_user_id, memory_id }))
    })
    return { deleted: true }
  })
}
