import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { connectBus } from '@guildhall/bus/connect'
import { getOverview } from '@guildhall/contracts/dashboard'
import { auditSubject } from '@guildhall/contracts/event'
import { listOrgAudit } from '@guildhall/contracts/ops'
import { getTrends } from '@guildhall/contracts/trends'
import { people } from '@guildhall/sandbox/demo'
import { newId } from '@guildhall/service/id'
import { createLog } from '@guildhall/service/log'
import { until } from '@guildhall/service/testing'
import { type Client, clientOf, orgIdOf, signIn } from '@guildhall/test-e2e/people'
import { child, end, quantile } from './children.ts'

const OVERVIEWS = 300
const TRENDS = 50
const WARM_UP = 30
const EVENTS_PER_SECOND = 500
const SECONDS = 20
const ACTION = 'auth.bench.event'
const NO_LIMITS = { RATE_CREDENTIAL_PER_MINUTE: '0', RATE_ADDRESS_PER_MINUTE: '0' }

/** `npm run bench ops`: an overview after the other with every service asked, then so many audit events a second. */
export async function benchOps() {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-bench-'))
  const env = { ...process.env, ...NO_LIMITS, PORT: '0', LOG_LEVEL: 'error', LOG_FORMAT: 'json' }
  const stack = await child<{ url: string; settings: Record<string, string> }>(
    './stack-process.ts',
    [home],
    env,
  )
  const { url, settings } = stack.said
  try {
    const officer = clientOf(url, (await signIn(url, people.officer)).access_token)
    const overviews = await measureOverviews(officer)
    const trends = await measureTrends(officer)
    const events = await measureEvents(officer, settings)
    print(overviews, trends, events)
  } finally {
    await end(stack.process)
    await rm(home, { recursive: true, force: true })
  }
}

async function measureOverviews(officer: Client): Promise<number[]> {
  const took: number[] = []
  for (let n = -WARM_UP; n < OVERVIEWS; n++) {
    const began = performance.now()
    const reply = await officer.call(getOverview, { params: { org: 'demo' } })
    if (reply.status !== 200) throw new Error(`The overview answered ${reply.status}`)
    const silent = Object.entries(reply.body.sections).filter(
      ([, section]) => section && 'unavailable' in section,
    )
    if (silent.length > 0) throw new Error(`Not every service answered: ${silent.join(', ')}`)
    if (n >= 0) took.push(performance.now() - began)
  }
  return took
}

async function measureTrends(officer: Client): Promise<number[]> {
  const took: number[] = []
  while (took.length < TRENDS) {
    const began = performance.now()
    const query = { days: '90' }
    const reply = await officer.call(getTrends, { params: { org: 'demo' }, query })
    if (reply.status !== 200) throw new Error(`The trends answered ${reply.status}`)
    if (reply.body.unavailable.length > 0) throw new Error(`No ${reply.body.unavailable.join()}`)
    took.push(performance.now() - began)
  }
  return took
}

/** Publishes evenly as auth does, and looks each second at how many ops has not stored yet. */
async function measureEvents(officer: Client, { NATS_URL = '', INTERNAL_KEY = '' }) {
  const log = createLog('bench', { format: 'json', level: 'error' })
  await using bus = await connectBus({
    peer: 'auth',
    url: NATS_URL,
    internalKey: INTERNAL_KEY,
    log,
  })
  await using ops = await connectBus({ peer: 'ops', url: NATS_URL, internalKey: INTERNAL_KEY, log })
  const org_id = await orgIdOf(officer)
  const lagOf = async () => {
    const { num_pending, num_ack_pending } = await ops.jsm.consumers.info('AUDIT', 'ops-audit')
    return num_pending + num_ack_pending
  }
  const began = performance.now()
  const lags: number[] = []
  const sent: Promise<unknown>[] = []
  for (let n = 0; n < SECONDS * EVENTS_PER_SECOND; n++) {
    const ahead = began + (n * 1000) / EVENTS_PER_SECOND - performance.now()
    if (ahead > 1) await wait(ahead)
    const event = eventOf(org_id)
    const options = { msgID: event.id }
    sent.push(bus.js.publish(auditSubject('auth'), JSON.stringify(event), options))
    if (n % EVENTS_PER_SECOND === EVENTS_PER_SECOND - 1) lags.push(await lagOf())
  }
  await Promise.all(sent)
  const perSecond = (1000 * sent.length) / (performance.now() - began)
  await until(async () => (await lagOf()) === 0, 60_000)
  const stored = await countStored(officer, org_id)
  return { sent: sent.length, stored, perSecond, lags }
}

const eventOf = (org_id: number) => ({
  id: newId(),
  created_at: new Date().toISOString(),
  source: 'http',
  action: ACTION,
  org_id,
  actor_kind: 'officer',
  actor_id: people.officer.id,
  status: null,
  details: {},
})

async function countStored(officer: Client, orgId: number): Promise<number> {
  let count = 0
  let cursor: string | null | undefined
  do {
    const query = { limit: '500', action: ACTION, ...(cursor && { cursor }) }
    const reply = await officer.call(listOrgAudit, { params: { org_id: String(orgId) }, query })
    if (reply.status !== 200) throw new Error(`The audit log answered ${reply.status}`)
    count += reply.body.entries.length
    cursor = reply.body.next_cursor
  } while (cursor)
  return count
}

function print(
  took: number[],
  trends: number[],
  events: Awaited<ReturnType<typeof measureEvents>>,
) {
  const ms = (share: number) => `${quantile(took, share).toFixed(1)} ms`
  const line = (...cells: unknown[]) => console.log(`| ${cells.join(' | ')} |`)
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}\n`)
  line('what', 'measured')
  line('---', '---')
  line(`overview, every service asked, ${took.length} times: p50 / p99`, `${ms(0.5)} / ${ms(0.99)}`)
  line('trends of 90 days: p50', `${quantile(trends, 0.5).toFixed(1)} ms`)
  line('audit events sent a second', events.perSecond.toFixed(0))
  line('sent / stored', `${events.sent} / ${events.stored}`)
  line('not stored yet, at the end of each second', events.lags.join(' '))
}
