import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { Db } from './db.ts'

/** What must hold after whatever happened: each query answers the rows that break it. */
const RULES = {
  'a balance is the sum of the ledger': sql`
    select m.id, m.balance, coalesce(sum(l.points), 0) as booked
    from memberships m left join ledger l on l.membership = m.id
    group by m.id having m.balance <> coalesce(sum(l.points), 0)`,
  'no balance and no stock is below zero': sql`
    select id::text from memberships where balance < 0
    union all select id::text from products where stock < 0`,
  'an order costs what its items cost': sql`
    select o.id from orders o left join order_items i on i.order_id = o.id
    group by o.id having o.total_amount is distinct from sum(i.price_at_time * i.quantity)`,
  'an order is paid once, by its member': sql`
    select o.id from orders o left join ledger l
      on l.order_id = o.id and l.kind = 'purchase' and l.membership = o.membership
    group by o.id having count(l.id) <> 1 or sum(l.points) <> -o.total_amount`,
  'what is cancelled is given back once, and nothing else but on removal': sql`
    select o.id from orders o left join ledger l
      on l.order_id = o.id and l.kind = 'refund' and l.membership = o.membership
    group by o.id
    having sum(coalesce(l.points, 0)) not in (0, o.total_amount) or count(l.id) > 1
      or (o.status = 'cancelled' and count(l.id) = 0)
      or (o.status <> 'cancelled' and not o.deleted and count(l.id) > 0)`,
  'purchases and refunds belong to orders': sql`
    select id from ledger where (kind in ('purchase', 'refund')) <> (order_id is not null)`,
  'who has proved nothing is in an org': sql`
    select id from people p where email is null and chat_user_id is null
      and not exists (select from memberships where person = p.id)`,
} as const

/** Throws unless the books agree to the point. */
export async function checkBooks(db: Db) {
  for (const [rule, broken] of Object.entries(RULES))
    assert.deepEqual((await broken.execute(db)).rows, [], rule)
}

/** Whether a transaction waits for another. */
export async function somebodyWaits(db: Db) {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
  `.execute(db)
  return rows.length > 0
}

/** Pieces of each product that orders hold: those that are neither given back nor refunded while in house. */
export async function heldPieces(db: Db) {
  const { rows } = await sql<{ id: number; held: number }>`
    select i.product_id as id, sum(i.quantity)::int as held
    from order_items i join orders o on o.id = i.order_id
    where not exists (
      select from ledger l where l.order_id = o.id and l.kind = 'refund'
        and o.status in ('pending', 'processing', 'cancelled')
    )
    group by i.product_id`.execute(db)
  return new Map(rows.map(({ id, held }) => [id, held]))
}
