import { oncePerKey } from '@guildhall/bus/idempotency'
import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  assignPoints,
  deletePoints,
  pointsAwarded,
  pointsDeleted,
} from '@guildhall/contracts/points'
import { transact } from '@guildhall/db/transact'
import type { App } from '@guildhall/service/app'
import type { Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { lockMember, memberBy, selectMember } from '../members/queries.ts'
import { memberNotFound } from '../members/rules.ts'
import { joinByChat } from '../people/join.ts'
import { lockOwn } from '../people/own.ts'
import { holdPeople } from '../people/people.ts'
import { nameOf } from './name-of.ts'
import { book, deleteEvent, refuseBelowZero } from './queries.ts'

export function pointRoutes(app: App, deps: Deps) {
  const { db, now } = deps

  app.implement(assignPoints, async (input, reply) => {
    const { org, body, caller } = input
    const { points, event, chat_user_id, user_identifier = '' } = body
    if (chat_user_id) await joinByChat(deps, org, { chat_user_id, by: caller })
    const award = async (trx: Trx) => {
      const member = chat_user_id
        ? await lockOwn(trx, org.id, { chat_user_id })
        : await lockMember(() => selectMember(trx, org.id, user_identifier))
      if (!member) throw memberNotFound()
      const entry = {
        ...{ org_id: org.id, membership: member.id, points, event, created_at: now() },
        kind: points > 0 ? ('award' as const) : ('adjust' as const),
        awarded_by: nameOf(caller),
      }
      const id = await book(trx, entry)
      const said = { user_id: member.id, points, entry: id }
      await enqueue(trx, audit(pointsAwarded, caller, org, said))
      return { id, user_id: member.id, points, event, total_points: member.balance + points }
    }
    const once = (trx: Trx) => oncePerKey(trx, { ...input, route: assignPoints }, () => award(trx))
    return reply.code(201).send(await transact(db, once).catch(refuseBelowZero))
  })

  app.implement(deletePoints, async ({ org, body: { event, user_email }, caller }) => {
    const take = async (trx: Trx) => {
      await holdPeople(trx)
      const member = user_email && (await memberBy(trx, org.id, user_email))
      if (user_email && !member) throw memberNotFound()
      const membership = member ? member.id : undefined
      const deleted = await deleteEvent(trx, { org_id: org.id, event, membership })
      if (deleted > 0) await enqueue(trx, audit(pointsDeleted, caller, org, { event, deleted }))
      return { deleted }
    }
    return transact(db, take).catch(refuseBelowZero)
  })
}
