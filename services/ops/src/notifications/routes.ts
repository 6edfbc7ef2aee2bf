import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  listNotifications,
  notificationsReopened,
  notificationsResolved,
  reopenNotifications,
  resolveNotifications,
} from '@guildhall/contracts/notifications'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { notificationsOf } from './of-org.ts'
import { deleteResolved, insertResolved } from './queries.ts'

export function notificationRoutes(app: App, deps: Deps) {
  const { db, now } = deps
  app.implement(listNotifications, async ({ org, query: { status } }) => {
    const { notifications, unavailable } = await notificationsOf(deps, org)
    const shown = notifications.filter(
      ({ resolved_at }) => status === 'all' || (resolved_at === null) === (status === 'open'),
    )
    return { notifications: shown, unavailable }
  })

  app.implement(resolveNotifications, async ({ org, caller, body }) => {
    // what nobody tells of at this moment is not kept: ids are made by anybody
    const { notifications } = await notificationsOf(deps, org)
    const known = notifications.filter(({ id }) => body.ids.includes(id))
    const by = { resolved_at: now(), resolved_by: caller.chat_user_id }
    const rows = [...new Set(known.map(({ id }) => id))].map((id) => ({
      org_id: org.id,
      id,
      ...by,
    }))
    const resolved = await db.transaction().execute(async (trx) => {
      const count = await insertResolved(trx, rows)
      if (count > 0) await enqueue(trx, audit(notificationsResolved, caller, org, { count }))
      return count
    })
    return { resolved }
  })

  app.implement(reopenNotifications, async ({ org, caller, body }) => {
    const reopened = await db.transaction().execute(async (trx) => {
      const count = await deleteResolved(trx, org.id, body.ids)
      if (count > 0) await enqueue(trx, audit(notificationsReopened, caller, org, { count }))
      return count
    })
    return { reopened }
  })
}
