import { createHash } from 'node:crypto'
import { queueJob } from '@guildhall/bus/jobs'
import { indexPackResult } from '@guildhall/contracts/packs'
import type { OrgRef } from '@guildhall/contracts/route'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db } from '../db.ts'
import type { Deps } from '../deps.ts'
import { storable, tidy } from '../documents/text.ts'
import type { Answered, Asked } from './answer.ts'
import type { LiveQuery } from './loaded.ts'
import { liveKey, titleOfLive } from './rules.ts'

/** What no job could index by then is of no use. */
const KEPT_DAYS = 7

interface Result {
  pack: string
  query: LiveQuery
  asked: Asked
  answered: Answered
}

/** Keeps what a query answered until the job has made it a source; a later answer of the same question takes its place. */
export async function keepResult(
  { db, now }: Deps,
  org: OrgRef,
  { pack, query, asked, answered }: Result,
) {
  const id = newId()
  const hash = createHash('sha256')
    .update(JSON.stringify(sorted(asked)))
    .digest('hex')
  const content = {
    id,
    category: query.category,
    title: titleOfLive(storable(answered.title), asked),
    url: answered.url,
    text: tidy(storable(answered.text)),
    created_at: now(),
  }
  const place = { org_id: org.id, source_key: liveKey(pack, query.key, hash) }
  await db.transaction().execute(async (trx) => {
    await trx
      .insertInto('pack_results')
      .values({ ...place, pack, ...content })
      .onConflict((on) => on.constraint('pack_results_pkey').doUpdateSet(content))
      .execute()
    await queueJob(trx, indexPackResult, { result_id: id, org_id: org.id })
  })
}

/** Equal for the same parameters, in whichever order they came. */
const sorted = (asked: Asked) =>
  Object.entries(asked)
    .map(([name, value]) => [name, Array.isArray(value) ? value.toSorted() : value] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))

export const resultById = (db: Db, id: string) =>
  db.selectFrom('pack_results').selectAll().where('id', '=', id).executeTakeFirst()

export async function dropResult(db: Db, id: string) {
  await db.deleteFrom('pack_results').where('id', '=', id).execute()
}

export async function pruneResults(db: Db) {
  await db
    .deleteFrom('pack_results')
    .where('created_at', '<', sql<Date>`now() - make_interval(days => ${KEPT_DAYS})`)
    .execute()
}
