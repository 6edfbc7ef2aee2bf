import { audit, enqueue } from '@guildhall/bus/outbox'
import { type NewOrg, orgCreated } from '@guildhall/contracts/orgs'
import { AppError } from '@guildhall/service/errors'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { insertOrg, orgByPrefix } from './queries.ts'
import { checkNewOrg, shownOrg } from './rules.ts'

/** Makes an org. Asked again for the same prefix and server, it answers the one that is there. */
export async function createOrgFrom(
  { db }: Deps,
  wanted: z.output<typeof NewOrg>,
  by: Parameters<typeof audit>[1],
) {
  checkNewOrg(wanted)
  return db.transaction().execute(async (trx) => {
    const made = await insertOrg(trx, wanted)
    if (made) {
      await enqueue(trx, audit(orgCreated, by, made, { prefix: made.prefix }))
      return { org: shownOrg(made), created: true }
    }
    const there = await orgByPrefix(trx, wanted.prefix)
    if (there?.chat_server_id !== wanted.chat_server_id) {
      throw new AppError('conflict', 'org.taken', 'Another org has this prefix or this chat server')
    }
    return { org: shownOrg(there), created: false }
  })
}
