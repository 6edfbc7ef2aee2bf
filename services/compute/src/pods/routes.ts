import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  actOnPod,
  changePodAccess,
  createPod,
  getPod,
  listPods,
  podAccessChanged,
} from '@guildhall/contracts/compute'
import type { App } from '@guildhall/service/app'
import { pageOf } from '@guildhall/service/paging'
import type { LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'
import { act } from './action.ts'
import { makePod } from './create.ts'
import type { Seen } from './live.ts'
import { openSessions, podById, podsOfOrg, setAccess } from './queries.ts'
import { shownPod } from './shown.ts'
import { whyError } from './why-error.ts'

/** The header of an answer in which a part is unknown, because whoever knows it is silent. */
export const DEGRADED = 'x-degraded'
export const PODHOST = 'podhost'

export function podRoutes(app: App, deps: Deps) {
  const { db, live } = deps

  app.implement(listPods, async ({ org, query: { limit, cursor } }, reply) => {
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['pods', org.id] },
      (page) => podsOfOrg(db, org.id, page),
    )
    const seen: Seen = items.length > 0 ? await live.nowOrUnknown(org.id) : new Map()
    if (!seen) reply.header(DEGRADED, PODHOST)
    const sessions = await openSessions(db, items)
    const pods = items.map((row) => shownPod(row, seen, { sessions: sessions.get(row.id) }))
    return reply.code(200).send({ pods, next_cursor })
  })

  app.implement(createPod, async (input, reply) => {
    const row = await makePod(deps, input)
    const { pod, seen } = await one(row)
    if (!seen) reply.header(DEGRADED, PODHOST)
    return reply.code(201).send({ pod })
  })

  app.implement(getPod, async ({ org, params: { pod_id } }, reply) => {
    const { pod, seen } = await one(await podById(db, org.id, pod_id))
    if (!seen) reply.header(DEGRADED, PODHOST)
    return reply.code(200).send({ pod })
  })

  app.implement(changePodAccess, async ({ org, params, body, caller }, reply) => {
    const pod = await podById(db, org.id, params.pod_id)
    const row = await db.transaction().execute(async (trx) => {
      const changed = await setAccess(trx, pod, body)
      const { pod_id, name, is_public, allowed_users } = changed
      const said = { pod_id, name, is_public, allowed_users: allowed_users.length }
      await enqueue(trx, audit(podAccessChanged, caller, org, said))
      return changed
    })
    const { pod: shown, seen } = await one(row)
    if (!seen) reply.header(DEGRADED, PODHOST)
    return reply.code(200).send({ pod: shown })
  })

  app.implement(actOnPod, async ({ org, params, body: { action }, caller }) => {
    const pod = await podById(db, org.id, params.pod_id)
    return { id: pod.pod_id, action, status: await act(deps, pod, action, caller) }
  })

  async function one(row: LivePod) {
    const seen = await live.nowOrUnknown(row.org_id)
    const [open, why] = await Promise.all([openSessions(db, [row]), whyError(deps, row, seen)])
    return { pod: shownPod(row, seen, { sessions: open.get(row.id), why }), seen }
  }
}
