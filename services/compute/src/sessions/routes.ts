import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  getPodSession,
  listPodSessions,
  planPodSession,
  removePodSession,
  sessionPlanned,
  sessionRemoved,
} from '@guildhall/contracts/pod-sessions'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { pageOf } from '@guildhall/service/paging'
import { nameOf } from '../apps/asked.ts'
import type { Deps } from '../deps.ts'
import { lockPod, podById } from '../pods/queries.ts'
import { shownSession } from '../pods/shown.ts'
import {
  countUnfinished,
  insertSession,
  removeSession,
  sessionById,
  sessionsOfPod,
} from './queries.ts'
import { checkCount, checkSession } from './rules.ts'

export function sessionRoutes(app: App, { db, now }: Deps) {
  app.implement(listPodSessions, async ({ org, params, query: { limit, cursor } }) => {
    const { id, pod_id } = await podById(db, org.id, params.pod_id)
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['sessions', id] },
      (page) => sessionsOfPod(db, id, page),
    )
    return { sessions: items.map((row) => shownSession(row, pod_id)), next_cursor }
  })

  app.implement(getPodSession, async ({ org, params: { pod_id, session_id } }) => {
    const pod = await podById(db, org.id, pod_id)
    const row = await sessionById(db, pod.id, session_id)
    if (!row) throw noSession()
    return { session: shownSession(row, pod_id) }
  })

  app.implement(planPodSession, async ({ org, params, body, caller }, reply) => {
    checkSession(body, now())
    const pod = await podById(db, org.id, params.pod_id)
    const row = await db.transaction().execute(async (trx) => {
      await lockPod(trx, pod) // its sessions are counted under its lock
      checkCount(await countUnfinished(trx, pod.id))
      const by = { created_by: nameOf(caller), created_at: now() }
      const planned = await insertSession(trx, pod.id, { ...body, ...by })
      const said = { pod_id: pod.pod_id, name: pod.name, session_id: planned.id }
      await enqueue(trx, audit(sessionPlanned, caller, org, said))
      return planned
    })
    return reply.code(201).send({ session: shownSession(row, pod.pod_id) })
  })

  app.implement(removePodSession, async ({ org, params: { pod_id, session_id }, caller }) => {
    const pod = await podById(db, org.id, pod_id)
    await db.transaction().execute(async (trx) => {
      if (!(await removeSession(trx, pod.id, session_id))) throw noSession()
      await enqueue(trx, audit(sessionRemoved, caller, org, { pod_id, name: pod.name, session_id }))
    })
    return { deleted: true }
  })
}

const noSession = () =>
  new AppError('not_found', 'session.not_found', 'The pod has no such session')
