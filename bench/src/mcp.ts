import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { people } from '@guildhall/sandbox/demo'
import { clientOf, machineTokenOf, signIn } from '@guildhall/test-e2e/people'
import { child, end, quantile } from './children.ts'

const PER_SECOND = 100
/** One alone may have 8 calls under way. */
const AGENTS = 9
const SECONDS = 20
const WARM_UP_SECONDS = 3
const NO_LIMITS = { RATE_MACHINE_PER_MINUTE: '0', RATE_ADDRESS_PER_MINUTE: '0' }

/** `npm run bench mcp`: so many calls of tools a second through the gateway, whether earlier ones are answered or not. */
export async function benchMcp() {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-bench-'))
  const env = { ...process.env, ...NO_LIMITS, PORT: '0', LOG_LEVEL: 'error', LOG_FORMAT: 'json' }
  const stack = await child<{ url: string }>('./stack-process.ts', [home], env)
  const { url } = stack.said
  try {
    const officer = clientOf(url, (await signIn(url, people.officer)).access_token)
    const tokens: string[] = []
    while (tokens.length < AGENTS)
      tokens.push((await machineTokenOf(officer, ['org:read', 'knowledge:read'])).token)
    const call = callsOf(url, tokens)
    await paced(WARM_UP_SECONDS, call)
    print(await paced(SECONDS, call))
  } finally {
    await end(stack.process)
    await rm(home, { recursive: true, force: true })
  }
}

/** By turns a read of auth and a read of knowledge, each with its line in the audit log, by one agent after another. */
function callsOf(url: string, tokens: readonly string[]) {
  const names = ['org.info', 'knowledge.sources']
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  }
  return async (n: number) => {
    const params = { name: names[n % names.length], arguments: {} }
    const body = JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params })
    const began = performance.now()
    const authorization = `Bearer ${tokens[n % tokens.length]}`
    const sent = { ...headers, authorization }
    const reply = await fetch(`${url}/mcp`, { method: 'POST', headers: sent, body })
    const said = await reply.text()
    if (!said.includes('"result"') || said.includes('isError":true')) throw new Error(said)
    return performance.now() - began
  }
}

/** Begins `PER_SECOND` calls each second, evenly, and answers how long each took and how many a second were answered. */
async function paced(seconds: number, call: (n: number) => Promise<number>) {
  const began = performance.now()
  const calls: Promise<number>[] = []
  for (let n = 0; n < seconds * PER_SECOND; n++) {
    const ahead = began + (n * 1000) / PER_SECOND - performance.now()
    if (ahead > 1) await wait(ahead)
    calls.push(call(n))
  }
  const took = await Promise.all(calls)
  return { took, perSecond: (1000 * took.length) / (performance.now() - began) }
}

function print({ took, perSecond }: Awaited<ReturnType<typeof paced>>) {
  const ms = (share: number) => `${quantile(took, share).toFixed(1)} ms`
  const line = (...cells: unknown[]) => console.log(`| ${cells.join(' | ')} |`)
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}\n`)
  line('tool calls over MCP', 'answered a second', 'p50', 'p99', 'longest')
  line('---', '---', '---', '---', '---')
  line(`${PER_SECOND} a second for ${SECONDS} s`, perSecond.toFixed(1), ms(0.5), ms(0.99), ms(1))
}
