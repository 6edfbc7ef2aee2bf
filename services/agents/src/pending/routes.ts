import { audit, enqueue } from '@guildhall/bus/outbox'
import { claimPending, holdPending, pendingAnswered } from '@guildhall/contracts/agent-pending'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { lockOwner, ownerOf } from '../owner.ts'
import { answerPending, insertPending } from './queries.ts'

export function pendingRoutes(app: App, { db, now }: Deps) {
  app.implement(holdPending, async ({ org, params, body }, reply) => {
    const owner = ownerOf(org, params.chat_user_id)
    const actions = [{ id: params.pending_id, ...body }]
    const [held] = await db.transaction().execute(async (trx) => {
      await lockOwner(trx, owner)
      return insertPending(trx, owner, actions, now())
    })
    const expires_at = (held?.expires_at ?? now()).toISOString()
    return reply.code(201).send({ held: true, expires_at })
  })

  app.implement(claimPending, async ({ org, params, body: { approved }, caller }) => {
    const { chat_user_id, pending_id } = params
    const owner = ownerOf(org, chat_user_id)
    return db.transaction().execute(async (trx) => {
      const claimed = await answerPending(trx, owner, { id: pending_id, approved, now: now() })
      if (!claimed) throw noPending()
      const said = { pending_id, chat_user_id, approved }
      await enqueue(trx, audit(pendingAnswered, caller, org, said))
      return { ...claimed, approved }
    })
  })
}

const noPending = () =>
  new AppError(
    'not_found',
    'pending.not_found',
    'The member has no such action that waits for an answer: it is unknown, expired or answered. Hold it again under a new id.',
  )
