import { useTool } from '@guildhall/contracts/mcp'
import { getImport, importPoints } from '@guildhall/contracts/point-imports'
import { assignPoints, createPointsUser, getUserPoints } from '@guildhall/contracts/points'
import { getMyPoints } from '@guildhall/contracts/store-members'
import { listOrders, placeMyOrder } from '@guildhall/contracts/store-orders'
import { createProduct, getProduct } from '@guildhall/contracts/store-products'
import { people } from '@guildhall/sandbox/demo'
import { type Hands, org } from './hands.ts'
import { acknowledged, answered, everyPage, type Kind } from './kind.ts'

const MANY = 1_000_000
/** Members whom nobody else gives points. */
const AWARDED = 'awarded@example.org'
const BY_TOOL = 'tool@example.org'

/** What members earn and spend; `run` tells the keys of this run from those of another. */
export async function kindsOfStore(hands: Hands, run: string): Promise<Kind[]> {
  const { officer } = hands
  const member = { chat_user_id: people.member.id, points: MANY, event: 'Before the storm' }
  await answered(officer().call(assignPoints, { params: org, body: member }))
  for (const email of [AWARDED, BY_TOOL]) {
    const user = { name: 'Member', email }
    await answered(officer().call(createPointsUser, { params: org, body: user }))
  }
  const product = { name: 'Mug', price: 1, stock: MANY }
  const { id } = await answered(officer().call(createProduct, { params: org, body: product }))
  return [awards(hands, run), toolAwards(hands), orders(hands, run, id), imports(hands)]
}

/** The events for which a member has points. */
async function earned({ officer }: Hands, identifier: string): Promise<string[]> {
  const entries = await everyPage(async (cursor) => {
    const sent = { params: { ...org, identifier }, query: { limit: '500', cursor } }
    const body = await answered(officer().call(getUserPoints, sent))
    return { ...body, items: body.points }
  })
  return entries.map(({ event }) => event)
}

function awards(hands: Hands, run: string): Kind {
  return {
    name: 'points',
    once: true,
    async write(n) {
      const keyed = hands.officer({ 'idempotency-key': `${run}-points-${n}` })
      const body = { user_identifier: AWARDED, points: 1, event: `award-${n}` }
      return (await acknowledged(keyed.call(assignPoints, { params: org, body })))?.event
    },
    held: () => earned(hands, AWARDED),
  }
}

/** By an agent's tool: without a key, so an unanswered one may be there or not. */
function toolAwards(hands: Hands): Kind {
  return {
    name: 'points by a tool',
    async write(n) {
      const body = { user_identifier: BY_TOOL, points: 1, event: `tool-${n}`, confirm: true }
      const used = hands.agent().call(useTool, { params: { name: 'points.award' }, body })
      const answer = await acknowledged(used)
      return answer && 'result' in answer ? body.event : undefined
    },
    held: () => earned(hands, BY_TOOL),
  }
}

function orders({ officer, member }: Hands, run: string, product_id: number): Kind {
  const all = () =>
    everyPage(async (before) => {
      const sent = { params: org, query: { limit: '500', ...(before && { before }) } }
      const items = await answered(officer().call(listOrders, sent))
      return { items, next_cursor: items.length === 500 ? String(items.at(-1)?.id) : null }
    })
  return {
    name: 'orders',
    once: true,
    audit: { action: 'store.order.placed', by: 'order_id' },
    async write(n) {
      const keyed = member({ 'idempotency-key': `${run}-order-${n}` })
      const body = { items: [{ product_id, quantity: 1 }] }
      const placed = await acknowledged(keyed.call(placeMyOrder, { params: org, body }))
      return placed && String(placed.id)
    },
    held: async () => (await all()).map(({ id }) => String(id)),
    async faults() {
      const sold = (await all()).length
      const params = { ...org, id: String(product_id) }
      const { stock } = await answered(officer().call(getProduct, { params }))
      const { total_points } = await answered(member().call(getMyPoints, { params: org }))
      if (stock === MANY - sold && total_points === MANY - sold) return []
      return [
        `${sold} pieces were sold, yet ${stock} of ${MANY} are left and ${total_points} points`,
      ]
    },
  }
}

/** Each is a job. Held are those that have awarded what they were sent for. */
function imports({ officer }: Hands): Kind {
  const sent: string[] = []
  /** Nothing for one that is not there. */
  const resultOf = (job_id: string) =>
    answered(officer().call(getImport, { params: { ...org, job_id } })).catch(() => undefined)
  return {
    name: 'imports (jobs)',
    restMs: 500,
    audit: { action: 'store.points.imported', by: 'import_id' },
    async write(n) {
      const file_content = `Email,First Name,Last Name,Checked-In Date\nmember${n}@example.org,M,N,2026-10-01\n`
      const body = { event_name: `import-${n}`, event_points: 1, file_content }
      const queued = await acknowledged(officer().call(importPoints, { params: org, body }))
      if (queued && 'job_id' in queued) sent.push(queued.job_id)
      return queued && 'job_id' in queued ? queued.job_id : undefined
    },
    async held() {
      const results = await Promise.all(sent.map(resultOf))
      return sent.filter((_, n) => results[n]?.state === 'done' && results[n]?.awarded === 1)
    },
  }
}
