import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  createPointsUser,
  getUserPoints,
  listPointsUsers,
  memberAdded,
  memberChanged,
  type PointsUserPatch,
  putPointsUser,
} from '@guildhall/contracts/points'
import { transact } from '@guildhall/db/transact'
import type { App } from '@guildhall/service/app'
import { newId } from '@guildhall/service/id'
import { pageOf } from '@guildhall/service/paging'
import type { Db, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { insertMembership } from '../people/join.ts'
import { entriesOf } from '../points/queries.ts'
import { memberBy, membersOf, shownMember } from './queries.ts'
import { memberNotFound, refuseTaken } from './rules.ts'

export function memberRoutes(app: App, { db, now }: Deps) {
  app.implement(listPointsUsers, async ({ org, query: { limit, cursor, q } }) => {
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['points_users', org.id, q] },
      (page) => membersOf(db, org.id, q, page),
    )
    return { users: items.map(shownMember), next_cursor }
  })

  app.implement(createPointsUser, async ({ org, body, caller }, reply) => {
    const { profile_fields = {}, ...details } = body
    const add = async (trx: Trx) => {
      // nobody has proved this email yet: whoever does is given the membership
      const person = { id: newId(), email: null, chat_user_id: null, created_at: now() }
      await trx.insertInto('people').values(person).execute()
      const fields = { ...defined(details), profile_fields: JSON.stringify(profile_fields) }
      const member = { ...fields, name: body.name, org_id: org.id, person: person.id }
      const user_id = await insertMembership(trx, member, now())
      await enqueue(trx, audit(memberAdded, caller, org, { user_id }))
      return user_id
    }
    const id = await transact(db, add).catch(refuseTaken)
    return reply.code(201).send({ user: shownMember(await known(db, org.id, id)) })
  })

  app.implement(putPointsUser, async ({ org, params, body, caller }) => {
    const { id: user_id } = await known(db, org.id, params.identifier)
    const change = async (trx: Trx) => {
      await trx
        .updateTable('memberships')
        .set({ ...changes(body), updated_at: now() })
        .where('id', '=', user_id)
        .execute()
      const fields = Object.keys(body)
      await enqueue(trx, audit(memberChanged, caller, org, { user_id, fields }))
    }
    await transact(db, change).catch(refuseTaken)
    return { user: shownMember(await known(db, org.id, user_id)) }
  })

  app.implement(getUserPoints, async ({ org, params, query: { limit, cursor } }) => {
    const member = await known(db, org.id, params.identifier)
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['user_points', member.id] },
      (page) => entriesOf(db, member.id, page),
      ({ id }) => String(id),
    )
    return {
      user: shownMember(member),
      total_points: member.balance,
      points: items,
      next_cursor,
    }
  })
}

async function known(db: Db, orgId: number, identifier: string) {
  const member = await memberBy(db, orgId, identifier)
  if (!member) throw memberNotFound()
  return member
}

function changes({ profile_fields, ...details }: PointsUserPatch) {
  return {
    ...defined(details),
    ...(profile_fields && { profile_fields: JSON.stringify(profile_fields) }),
  }
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** The fields that were sent. */
const defined = <T extends object>(fields: T) =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Defined<T>
