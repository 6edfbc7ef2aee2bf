import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { commitTurn, readTurnContext } from '@guildhall/contracts/agent-turns'
import { people } from '@guildhall/sandbox/demo'
import { type Client, clientOf, machineTokenOf, signIn } from '@guildhall/test-e2e/people'
import { child, end, quantile } from './children.ts'

const MESSAGES = 50
const MEMORIES = 20
const RELATIONS = 100
/** Messages of a measured turn. */
const OF_A_TURN = 10
const WARM_UP = 50
const TIMES = 1_000
const NO_LIMITS = { RATE_MACHINE_PER_MINUTE: '0', RATE_ADDRESS_PER_MINUTE: '0' }

const params = { chat_user_id: people.member.id }
const turn = {
  conversation_id: randomUUID() as string,
  channel_id: 'general',
  visibility: 'private' as const,
}
const messages = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    role: n % 2 ? ('assistant' as const) : ('user' as const),
    content: `Message ${n}: ${'when does the workshop start, and where? '.repeat(5)}`,
  }))

/** `npm run bench agents`: both turn routes through the gateway, one request after the other. */
export async function benchAgents() {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-bench-'))
  const env = { ...process.env, ...NO_LIMITS, PORT: '0', LOG_LEVEL: 'error', LOG_FORMAT: 'json' }
  const stack = await child<{ url: string }>('./stack-process.ts', [home], env)
  const { url } = stack.said
  try {
    const officer = clientOf(url, (await signIn(url, people.officer)).access_token)
    const { token } = await machineTokenOf(officer, ['agents:read', 'agents:write'])
    const agent = clientOf(url, token)
    await fill(agent)
    const context = await times(() => agent.call(readTurnContext, { params, body: turn }), 200)
    const commit = await times(() => agent.call(commitTurn, { params, body: newTurn() }), 201)
    print({ context, commit })
  } finally {
    await end(stack.process)
    await rm(home, { recursive: true, force: true })
  }
}

async function fill(agent: Client) {
  const node = (label: string) => ({ kind: 'thing', label })
  const body = {
    ...turn,
    messages: messages(MESSAGES),
    memories: Array.from({ length: MEMORIES }, (_, n) => ({
      kind: 'semantic' as const,
      content: `Memory ${n}: ${'prefers the evening sessions. '.repeat(5)}`,
      sensitivity: n % 4 ? ('normal' as const) : ('sensitive' as const),
    })),
    facts: Array.from({ length: RELATIONS }, (_, n) => ({
      ...{ subject: node('me'), relation: 'likes', object: node(`thing ${n}`) },
    })),
  }
  const filled = await agent.call(commitTurn, { params, body })
  if (filled.status !== 201) throw new Error(JSON.stringify(filled.body))
}

/** A turn of a conversation of its own, so that the measured ones all write alike. */
const newTurn = () => ({
  ...turn,
  conversation_id: randomUUID() as string,
  messages: messages(OF_A_TURN),
})

/** Milliseconds of each call, after some that warm up. */
async function times(call: () => Promise<{ status: number; body: unknown }>, wanted: number) {
  const measured: number[] = []
  for (let n = -WARM_UP; n < TIMES; n++) {
    const began = performance.now()
    const { status, body } = await call()
    if (n >= 0) measured.push(performance.now() - began)
    if (status !== wanted) throw new Error(JSON.stringify(body))
  }
  return measured
}

function print(measured: { context: number[]; commit: number[] }) {
  const line = (...cells: unknown[]) => console.log(`| ${cells.join(' | ')} |`)
  const row = (what: string, all: number[], wanted: string) =>
    line(what, quantile(all, 0.5).toFixed(1), quantile(all, 0.99).toFixed(1), wanted)
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}\n`)
  line('through the gateway', 'p50 ms', 'p99 ms', 'wanted')
  line('---', '---', '---', '---')
  const held = `${MESSAGES} messages, ${MEMORIES} memories, ${RELATIONS} profile rows`
  row(`turn/context: ${held}`, measured.context, 'p50 ≤ 12, p99 ≤ 40')
  row(`turn/commit of ${OF_A_TURN} messages`, measured.commit, 'p50 ≤ 15')
}
