import type { Db, Trx } from '../db.ts'

/** How many of the org's crawled sources have a key that begins so. */
export async function countPages(db: Db, orgId: number, prefix: string): Promise<number> {
  const { count } = await db
    .selectFrom('crawls')
    .innerJoin('sources', 'sources.id', 'source_id')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .where('org_id', '=', orgId)
    .where((eb) => eb.fn('starts_with', ['key', eb.val(prefix)]), '=', true)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Whether a source that is there is crawled, and whether it is off because its page had left the pack. */
export function lockPage(trx: Trx, orgId: number, key: string) {
  return trx
    .selectFrom('sources')
    .innerJoin('crawls', 'source_id', 'sources.id')
    .select(['sources.id', 'enabled', 'retired'])
    .where('org_id', '=', orgId)
    .where('key', '=', key)
    .forUpdate('sources')
    .executeTakeFirst()
}

export async function unretire(trx: Trx, sourceId: string) {
  await trx
    .updateTable('crawls')
    .set({ retired: false })
    .where('source_id', '=', sourceId)
    .execute()
}

/** Turns off what is crawled under the prefix and is none of `keys`, and answers how many that were. */
export async function retireOthers(
  trx: Trx,
  orgId: number,
  { prefix, keys }: { prefix: string; keys: readonly string[] },
): Promise<number> {
  let leaving = trx
    .selectFrom('crawls')
    .innerJoin('sources', 'sources.id', 'source_id')
    .select('source_id')
    .where('org_id', '=', orgId)
    .where('enabled', '=', true)
    .where((eb) => eb.fn('starts_with', ['key', eb.val(prefix)]), '=', true)
    .orderBy('key') // two at once wait for each other in the same order
    .forUpdate()
  if (keys.length > 0) leaving = leaving.where('key', 'not in', keys)
  const rows = await leaving.execute()
  if (rows.length === 0) return 0
  const ids = rows.map(({ source_id }) => source_id)
  await trx
    .updateTable('crawls')
    .set({ enabled: false, retired: true, lease_id: null, leased_until: null })
    .where('source_id', 'in', ids)
    .execute()
  return rows.length
}

/** The key of the crawled source of a pack that has this address, if any. */
export async function pageWithUrl(
  db: Db,
  orgId: number,
  { prefix, url }: { prefix: string; url: string },
): Promise<string | undefined> {
  const row = await db
    .selectFrom('sources')
    .innerJoin('crawls', 'source_id', 'sources.id')
    .select('key')
    .where('org_id', '=', orgId)
    .where((eb) => eb.fn('starts_with', ['key', eb.val(prefix)]), '=', true)
    .where('url', '=', url)
    .orderBy('key')
    .executeTakeFirst()
  return row?.key
}

/** Keys under the prefix beyond the newest so many. */
export async function oldestBeyond(
  db: Db,
  orgId: number,
  { prefix, most }: { prefix: string; most: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('sources')
    .select('key')
    .where('org_id', '=', orgId)
    .where((eb) => eb.fn('starts_with', ['key', eb.val(prefix)]), '=', true)
    .orderBy('updated_at', 'desc')
    .orderBy('id', 'desc')
    .offset(most)
    .execute()
  return rows.map(({ key }) => key)
}
