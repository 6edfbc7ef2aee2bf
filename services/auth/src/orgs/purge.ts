import { ask } from '@guildhall/bus/calls'
import { tellChanged } from '@guildhall/bus/changed'
import type { Bus } from '@guildhall/bus/connect'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import { type forgetOrgOf, orgPurged, purgedServices, purgeOrgOf } from '@guildhall/contracts/orgs'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { earlierOwner, reservePrefix } from './prefix.ts'
import { lockOrgByPrefix, orgExists } from './queries.ts'

/**
 * Deletes a deactivated org here, then asks every service to delete what it keeps of it. Whoever does not acknowledge is
 * named, and asked again when this is repeated.
 */
export async function purgeOrgWith(deps: Deps, prefix: string, by: Parameters<typeof audit>[1]) {
  const org_id = (await deleteOrg(deps, prefix, by)) ?? (await purgedBefore(deps, prefix))
  return { org_id, ...(await askEvery(deps.bus, purgeOrgOf, org_id)) }
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
    const org = await lockOrgByPrefix(trx, prefix)
    if (!org) return undefined
    if (org.active)
      throw new AppError(
        'conflict',
        'org.active',
        `${prefix} is active. Deactivate it first: DELETE /api/superadmin/orgs/${org.id}`,
      )
    await reservePrefix(trx, { prefix, org_id: org.id })
    await trx.deleteFrom('orgs').where('id', '=', org.id).execute()
    await enqueue(trx, audit(orgPurged, by, org, { prefix }))
    return org.id
  })
  if (id !== undefined) tellChanged(bus, changed.org, id)
  return id
}

/** The id of an org that was purged before, by a prefix that it had. */
async function purgedBefore({ db }: Deps, prefix: string): Promise<number> {
  const id = await earlierOwner(db, prefix)
  if (id === undefined || (await orgExists(db, id)))
    throw new AppError('not_found', 'org.not_found', `There is no org ${prefix}`)
  return id
}
