import { tellChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import { type NewOrg, type Org, orgCreated } from '@guildhall/contracts/orgs'
import { AppError } from '@guildhall/service/errors'
import type { z } from 'zod'
import { checkOfficerRole } from '../clients/guilds.ts'
import type { Db, OrgRow, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { checkNotReserved, checkPrefix, earlierOwner, prefixesFor } from './prefix.ts'
import { insertOrg, orgsLike } from './queries.ts'
import { shownOrg } from './rules.ts'

type Actor = Parameters<typeof audit>[1]
type Wanted = Omit<z.output<typeof NewOrg>, 'prefix'> & { prefix?: string | undefined }

/** Makes an org. Asked again for the same prefix and server, it answers the one that is there. */
export async function createOrgFrom(
  deps: Deps,
  wanted: Wanted,
  by: Actor,
): Promise<{ org: Org; created: boolean }> {
  const { db, bus, chat } = deps
  const { chat_server_id, officer_role_id } = wanted
  if (wanted.prefix !== undefined) checkPrefix(wanted.prefix)
  const there = await sameOrg(db, wanted)
  if (there) return { org: shownOrg(there), created: false }
  if (officer_role_id !== null) await checkOfficerRole(chat, chat_server_id, officer_role_id)
  const prefix = wanted.prefix ?? (await freePrefix(db, wanted.name))
  const made = await db.transaction().execute((trx) => insertNew(trx, { ...wanted, prefix }, by))
  if (!made) return createOrgFrom(deps, wanted, by) // somebody was faster: it is theirs that counts
  tellChanged(bus, changed.org, made.id) // a gateway may know its prefix as that of no org
  return { org: shownOrg(made), created: true }
}

/** The org that is wanted, if it is there. Throws where another has its prefix or its server. */
async function sameOrg(db: Db, { prefix, chat_server_id }: Wanted): Promise<OrgRow | undefined> {
  const [there, other] = await orgsLike(db, { prefix, chat_server_id })
  if (!there) return undefined
  const same =
    !other &&
    there.chat_server_id === chat_server_id &&
    (prefix === undefined || there.prefix === prefix)
  if (!same)
    throw new AppError('conflict', 'org.taken', 'Another org has this prefix or this chat server')
  if (there.active) return there
  throw new AppError(
    'conflict',
    'org.deactivated',
    `The org of this chat server was deactivated. Undo that with POST /api/superadmin/orgs/${there.id}/activate, or delete the org first: operator org purge ${there.prefix} --yes`,
  )
}

async function freePrefix(db: Db, name: string): Promise<string> {
  for (const prefix of prefixesFor(name)) {
    const [taken] = await orgsLike(db, { prefix })
    if (!taken && (await earlierOwner(db, prefix)) === undefined) return prefix
  }
  throw new Error('There is always a next prefix')
}

async function insertNew(trx: Trx, wanted: z.output<typeof NewOrg>, by: Actor) {
  const made = await insertOrg(trx, wanted)
  if (!made) return undefined
  await checkNotReserved(trx, made)
  await enqueue(trx, audit(orgCreated, by, made, { prefix: made.prefix }))
  return made
}
