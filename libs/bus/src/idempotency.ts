import { createHash } from 'node:crypto'
import type { Caller } from '@guildhall/contracts/caller'
import type { Route } from '@guildhall/contracts/route'
import type { Trx } from '@guildhall/db/open'
import { AppError } from '@guildhall/service/errors'
import { sql } from 'kysely'
import type { BusTables } from './tables.ts'

interface Sent {
  route: Route
  caller: Caller
  /** The header Idempotency-Key; without one the work simply runs. */
  idempotency_key: string | undefined
  params: unknown
  query: unknown
  body: unknown
}

/**
 * Runs `work` once per caller, route and Idempotency-Key, and gives its answer to everybody who sends the
 * same again within a day (decisions.md § 0). Call it in the transaction of the write: the key commits with
 * it, so a refusal is not kept, and a second sending at the same time waits for the first.
 * Throws `idempotency.other_body` where the key came with another request before.
 */
export async function oncePerKey<T extends BusTables, A>(
  transaction: Trx<T>,
  { route, caller, idempotency_key: key, ...sent }: Sent,
  work: () => Promise<A>,
): Promise<A> {
  if (key === undefined) return work()
  const trx = transaction as unknown as Trx<BusTables>
  const row = { caller: nameOf(caller), route: `${route.method} ${route.url}`, key }
  const body_sha256 = createHash('sha256')
    .update(JSON.stringify([sent.params, sent.query, sent.body]))
    .digest('base64url')
  const mine = await trx
    .insertInto('idempotency_keys')
    .values({ ...row, body_sha256, answer: null })
    .onConflict((on) =>
      on
        .columns(['caller', 'route', 'key'])
        .doUpdateSet({ body_sha256, answer: sql`null`, created_at: sql`now()` })
        .where('idempotency_keys.created_at', '<', sql<Date>`now() - interval '1 day'`),
    )
    .returning('key')
    .executeTakeFirst()
  if (!mine) return earlierAnswer(trx, row, body_sha256)
  const answer = await work()
  await trx
    .updateTable('idempotency_keys')
    .set({ answer: JSON.stringify(answer) })
    .where((where) => where.and(row))
    .execute()
  return answer
}

/**
 * Forgets the key of a request that turned out to be refused after its intent had been committed, so that
 * the same key may be tried again (decisions.md § 0: refusals are not stored).
 */
export async function forgetKey<T extends BusTables>(
  transaction: Trx<T>,
  { route, caller, idempotency_key: key }: Pick<Sent, 'route' | 'caller' | 'idempotency_key'>,
) {
  if (key === undefined) return
  const trx = transaction as unknown as Trx<BusTables>
  const row = { caller: nameOf(caller), route: `${route.method} ${route.url}`, key }
  await trx
    .deleteFrom('idempotency_keys')
    .where((where) => where.and(row))
    .execute()
}

async function earlierAnswer<A>(
  trx: Trx<BusTables>,
  row: { caller: string; route: string; key: string },
  body_sha256: string,
): Promise<A> {
  const earlier = await trx
    .selectFrom('idempotency_keys')
    .select(['body_sha256', 'answer'])
    .where((where) => where.and(row))
    .executeTakeFirstOrThrow()
  if (earlier.body_sha256 === body_sha256) return earlier.answer as A
  throw new AppError(
    'conflict',
    'idempotency.other_body',
    'This Idempotency-Key came with another request before; take a new key',
  )
}

/** Keys of one caller mean nothing to another. */
function nameOf(caller: Caller): string {
  switch (caller.kind) {
    case 'public':
      return 'public'
    case 'machine':
      return `machine:${caller.token_id}`
    case 'identity':
      return `identity:${caller.subject}`
    default:
      return `chat:${caller.chat_user_id}`
  }
}
