import { ask } from '@guildhall/bus/calls'
import { tellChanged } from '@guildhall/bus/changed'
import type { Bus } from '@guildhall/bus/connect'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import {
  endPods,
  type forgetOrgOf,
  orgPurged,
  purgedServices,
  purgeOrgOf,
} from '@guildhall/contracts/orgs'
import { AppError } from '@guildhall/service/errors'
import type { OrgRow, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { earlierOwner, reservePrefix } from './prefix.ts'
import { lockOrgByPrefix, orgExists } from './queries.ts'

interface Wanted {
  prefix: string
  /** Also where pods of the org cannot be terminated and go on costing. */
  leave_pods: boolean
}

/**
 * Terminates the pods of a deactivated org, deletes it here, then asks every service to delete what it keeps of it.
 * Whoever does not acknowledge is named, and asked again when this is repeated. Throws with nothing deleted where pods
 * are left.
 */
export async function purgeOrgWith(
  deps: Deps,
  { prefix, leave_pods }: Wanted,
  by: Parameters<typeof audit>[1],
) {
  if (!leave_pods) await endPodsOf(deps, prefix)
  const org_id = (await deleteOrg(deps, prefix, by)) ?? (await purgedBefore(deps, prefix))
  return { org_id, ...(await askEvery(deps.bus, purgeOrgOf, org_id)) }
}

/** First of all: with the org go its secrets, and with them the key that ends what its pods cost. */
async function endPodsOf({ db, bus }: Deps, prefix: string) {
  const org = await db.transaction().execute((trx) => lockInactive(trx, prefix))
  if (!org) return
  const { left, reason } = await ask(bus, endPods, { org_id: org.id })
  if (left.length === 0) return
  throw new AppError(
    'conflict',
    'org.pods_left',
    `Nothing is deleted, because these pods of ${prefix} go on costing: ${left.join(', ')}. ${reason ?? ''} Run the same command again; or terminate them on the org's own account at the pod host, and add --leave-pods.`,
  )
}

/** Asks every other service to do something about an org, and tells who did. */
export async function askEvery(
  bus: Bus,
  callOf: typeof purgeOrgOf | typeof forgetOrgOf,
  org_id: number,
) {
  const answers = await Promise.all(
    purgedServices.map(async (service) => {
      try {
        await ask(bus, callOf(service), { org_id })
        return { service, reason: undefined }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { service, reason: error.message }
      }
    }),
  )
  return {
    acknowledged: answers.flatMap(({ service, reason }) => (reason === undefined ? service : [])),
    missing: answers.flatMap(({ service, reason }) =>
      reason === undefined ? [] : { service, reason },
    ),
  }
}

/** Deletes the org with all that hangs on it, and answers its id if it was there. Its prefix stays reserved. */
async function deleteOrg({ db, bus }: Deps, prefix: string, by: Parameters<typeof audit>[1]) {
  const id = await db.transaction().execute(async (trx) => {
    const org = await lockInactive(trx, prefix)
    if (!org) return undefined
    await reservePrefix(trx, { prefix, org_id: org.id })
    await trx.deleteFrom('orgs').where('id', '=', org.id).execute()
    await enqueue(trx, audit(orgPurged, by, org, { prefix }))
    return org.id
  })
  if (id !== undefined) tellChanged(bus, changed.org, id)
  return id
}

/** The org under its lock, if there is one. Throws 409 for an active one. */
async function lockInactive(trx: Trx, prefix: string): Promise<OrgRow | undefined> {
  const org = await lockOrgByPrefix(trx, prefix)
  if (!org?.active) return org
  throw new AppError(
    'conflict',
    'org.active',
    `${prefix} is active. Deactivate it first: DELETE /api/superadmin/orgs/${org.id}`,
  )
}

/** The id of an org that was purged before, by a prefix that it had. */
async function purgedBefore({ db }: Deps, prefix: string): Promise<number> {
  const id = await earlierOwner(db, prefix)
  if (id === undefined || (await orgExists(db, id)))
    throw new AppError('not_found', 'org.not_found', `There is no org ${prefix}`)
  return id
}
