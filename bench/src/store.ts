import { cpus } from 'node:os'
import { getLeaderboard } from '@guildhall/contracts/points'
import { checkout } from '@guildhall/contracts/store-orders'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import type { Identity } from '@guildhall/service/caller-token'
import { createLog } from '@guildhall/service/log'
import { clientAs } from '@guildhall/service/testing'
import type { Db, Tables } from '@guildhall/store/db'
import { sql } from 'kysely'
import { quantile } from './children.ts'
import { type Place, withStore } from './store-home.ts'

const MEMBERS = 10_000
const ENTRIES = 5
const PRODUCTS = 200
const AT_ONCE = 16
const SECONDS = 10
const READS = 300
const WARMING = 30

const org = { id: 1, prefix: 'org1', name: 'Org 1', modules: [], publisher: false }
const params = { org: 'org1' }

/** `npm run bench store`: the leaderboard of a large club, and checkouts on one product and on many, in one run. */
export const benchStore = () =>
  withStore(async (place) => {
    const log = createLog('bench', { format: 'json', level: 'error' })
    const url = roleUrl(place.database, 'store', place.key)
    const db = openDb<Tables>({ url, schema: 'store', log })
    const products = await fill(db)
    const boards = [await leaderboard(place, '100'), await leaderboard(place, '500')]
    const hot = await checkouts(place, products.slice(0, 1))
    const many = await checkouts(place, products)
    await db.destroy()
    print(boards, { 'one hot product': hot, [`${PRODUCTS} products`]: many })
  })

/** Members with points, and products that do not run out. */
async function fill(db: Db): Promise<number[]> {
  await sql`insert into people (id, email, created_at)
    select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'm' || n || '@example.org', now()
    from generate_series(1, ${MEMBERS}::int) n`.execute(db)
  await sql`insert into memberships (id, org_id, person, name, email, created_at, updated_at)
    select id, 1, id, 'Member ' || email, email, now(), now() from people`.execute(db)
  await sql`insert into ledger (org_id, membership, points, kind, event, created_at)
    select 1, id, 1000 + (hashtext(id::text || n) & 1023), 'award', 'Event ' || n, now()
    from memberships, generate_series(1, ${ENTRIES}::int) n`.execute(db)
  await sql`insert into products (org_id, name, description, price, stock, created_at, updated_at)
    select 1, 'Product ' || n, '', 1, 1000000, now(), now() from generate_series(1, ${PRODUCTS}::int) n`.execute(
    db,
  )
  await sql`vacuum analyze`.execute(db).catch(() => undefined) // tables of the server are not ours
  return (await db.selectFrom('products').select('id').orderBy('id').execute()).map(({ id }) => id)
}

async function leaderboard({ url, key }: Place, limit: string) {
  const client = clientAs(url, key, { org })
  const ms: number[] = []
  for (let n = -WARMING; n < READS; n++) {
    const began = performance.now()
    const reply = await client.call(getLeaderboard, { params, query: { limit } })
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body))
    if (n >= 0) ms.push(performance.now() - began)
  }
  return { limit, p50: quantile(ms, 0.5), p99: quantile(ms, 0.99) }
}

/** Members take turns, each with one product of those named. */
async function checkouts({ url, key }: Place, products: number[]) {
  const until = performance.now() + SECONDS * 1000
  const ms: number[] = []
  let next = 0
  async function shopper() {
    while (performance.now() < until) {
      const n = next++
      const caller: Identity['caller'] = {
        ...{ kind: 'identity', email: `m${1 + (n % MEMBERS)}@example.org`, subject: `user_${n}` },
      }
      const items = [{ product_id: products[n % products.length] ?? 0, quantity: 1 }]
      const client = clientAs(
        url,
        key,
        { org, caller },
        { 'idempotency-key': `order-${n}-${products.length}` },
      )
      const began = performance.now()
      const reply = await client.call(checkout, { params, body: { items } })
      if (reply.status !== 201) throw new Error(JSON.stringify(reply.body))
      ms.push(performance.now() - began)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, shopper))
  const perSecond = Math.round(ms.length / SECONDS)
  return { perSecond, p50: quantile(ms, 0.5), p99: quantile(ms, 0.99) }
}

type Checkouts = Awaited<ReturnType<typeof checkouts>>

function print(
  boards: Awaited<ReturnType<typeof leaderboard>>[],
  bought: Record<string, Checkouts>,
) {
  const line = (...cells: unknown[]) => console.log(`| ${cells.join(' | ')} |`)
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}\n`)
  line(`leaderboard of ${MEMBERS} members`, 'p50 ms', 'p99 ms')
  line('---', '---', '---')
  for (const { limit, p50, p99 } of boards) line(`first ${limit}`, p50.toFixed(1), p99.toFixed(1))
  console.log()
  line(`checkouts, ${AT_ONCE} at once`, 'a second', 'p50 ms', 'p99 ms')
  line('---', '---', '---', '---')
  for (const [name, { perSecond, p50, p99 }] of Object.entries(bought))
    line(name, perSecond, p50.toFixed(1), p99.toFixed(1))
}
