import { oncePerKey } from '@guildhall/bus/idempotency'
import {
  addSummary,
  appendMessages,
  endChannel,
  findLatest,
  getConversation,
  listMessages,
  putConversation,
} from '@guildhall/contracts/agent-conversations'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { lockOwner, ownerOf } from '../owner.ts'
import { insertMessages, insertSummary, messagesOf } from './messages.ts'
import { endConversations, isOwned, latestOf, openConversation } from './queries.ts'
import { noConversation, shownMessage } from './rules.ts'

export function conversationRoutes(app: App, { db, now }: Deps) {
  app.implement(putConversation, async ({ org, params, body }, reply) => {
    const { chat_user_id, conversation_id: id } = params
    const owner = ownerOf(org, chat_user_id)
    const { state, made } = await db.transaction().execute(async (trx) => {
      await lockOwner(trx, owner)
      return openConversation(trx, owner, { id, ...body }, now())
    })
    return reply.code(made ? 201 : 200).send({ id, state })
  })

  app.implement(getConversation, async ({ org, params, query: { visibility } }) => {
    const owner = ownerOf(org, params.chat_user_id)
    return { owned: await isOwned(db, owner, params.conversation_id, visibility) }
  })

  app.implement(listMessages, async ({ org, params, query: { limit } }) => {
    const owner = ownerOf(org, params.chat_user_id)
    const id = params.conversation_id
    const rows = await messagesOf(db, owner, { id, limit })
    if (rows.length === 0 && !(await isOwned(db, owner, id))) throw noConversation()
    return { messages: rows.map(shownMessage) }
  })

  app.implement(appendMessages, async (input, reply) => {
    const { org, params, body } = input
    const owner = ownerOf(org, params.chat_user_id)
    const asked = { id: params.conversation_id, messages: body.messages, now: now() }
    const seqs = await db
      .transaction()
      .execute((trx) =>
        oncePerKey(trx, { ...input, route: appendMessages }, () =>
          insertMessages(trx, owner, asked),
        ),
      )
    return reply.code(201).send({ seqs })
  })

  app.implement(addSummary, async (input, reply) => {
    const { org, params, body: summary } = input
    const owner = ownerOf(org, params.chat_user_id)
    const asked = { id: params.conversation_id, summary, now: now() }
    const seq = await db
      .transaction()
      .execute((trx) =>
        oncePerKey(trx, { ...input, route: addSummary }, () => insertSummary(trx, owner, asked)),
      )
    return reply.code(201).send({ seq })
  })

  app.implement(findLatest, async ({ org, params, query: { visibility } }) => {
    const { chat_user_id, channel_id } = params
    const found = await latestOf(db, ownerOf(org, chat_user_id), { channel_id, visibility })
    return { id: found?.id ?? null }
  })

  app.implement(endChannel, async ({ org, params: { chat_user_id, channel_id } }) => {
    const owner = ownerOf(org, chat_user_id)
    const ended = await db.transaction().execute(async (trx) => {
      await lockOwner(trx, owner)
      return endConversations(trx, owner, channel_id, now())
    })
    return { ended }
  })
}
