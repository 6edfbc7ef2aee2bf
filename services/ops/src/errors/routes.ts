import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import {
  errorsReopened,
  errorsResolved,
  listErrors,
  listOrgErrors,
  reopenErrors,
  reopenOrgErrors,
  resolveErrors,
  resolveOrgErrors,
} from '@guildhall/contracts/error-groups'
import { type AuditAction, actorOf } from '@guildhall/contracts/event'
import type { App } from '@guildhall/service/app'
import { pageOf } from '@guildhall/service/paging'
import type { Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { type ErrorFilters, errorGroups, reopenGroups, resolveGroups } from './queries.ts'

export function errorRoutes(app: App, deps: Deps) {
  app.implement(listErrors, ({ query }) => listed(deps, undefined, query))
  app.implement(listOrgErrors, ({ org, query }) => listed(deps, org.id, query))

  app.implement(resolveErrors, async ({ caller, body }) => ({
    resolved: await resolved(deps, { caller, org: undefined, ids: body.ids }),
  }))
  app.implement(resolveOrgErrors, async ({ caller, org, body }) => ({
    resolved: await resolved(deps, { caller, org, ids: body.ids }),
  }))

  app.implement(reopenErrors, async ({ caller, body }) => ({
    reopened: await reopened(deps, { caller, org: undefined, ids: body.ids }),
  }))
  app.implement(reopenOrgErrors, async ({ caller, org, body }) => ({
    reopened: await reopened(deps, { caller, org, ids: body.ids }),
  }))
}

type Listed = { limit: number; cursor?: string | undefined; status: ErrorFilters['status'] }

async function listed({ db }: Deps, org_id: number | undefined, { limit, cursor, status }: Listed) {
  const filters = { org_id, status }
  const { items, next_cursor } = await pageOf(
    { limit, cursor, bound: ['errors', filters] },
    (page) => errorGroups(db, filters, page),
    ({ last_seen, id }) => `${last_seen} ${id}`,
  )
  return { errors: items, next_cursor }
}

interface Asked {
  caller: Caller
  /** Nothing where the superadmin names errors of any org. */
  org: { id: number } | undefined
  ids: string[]
}

function resolved({ db, now }: Deps, asked: Asked) {
  const by = actorOf(asked.caller).actor_id
  return db.transaction().execute(async (trx) => {
    const ids = await resolveGroups(trx, named(asked), { by, at: now() })
    await tell(trx, errorsResolved, asked, ids)
    return ids.length
  })
}

function reopened({ db }: Deps, asked: Asked) {
  return db.transaction().execute(async (trx) => {
    const ids = await reopenGroups(trx, named(asked))
    await tell(trx, errorsReopened, asked, ids)
    return ids.length
  })
}

const named = ({ org, ids }: Asked) => ({ org_id: org?.id, ids })

/** What changed nothing is not audited. */
async function tell(
  trx: Trx,
  action: AuditAction<typeof errorsResolved.details>,
  { caller, org }: Asked,
  ids: string[],
) {
  if (ids.length > 0) await enqueue(trx, audit(action, caller, org, { ids }))
}
