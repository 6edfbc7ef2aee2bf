import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { people } from '@guildhall/sandbox/demo'
import { clients, machineTokenOf, signIn } from '@guildhall/test-e2e/people'
import { child, end, residentMb } from './children.ts'
import { measureRequests } from './requests.ts'
import { measureSearch } from './search.ts'
import { measureStarts } from './starts.ts'
import { measureVerification } from './verification.ts'

/** `npm run bench`: one table, limits off, everything in one run on one machine. */

const NO_LIMITS = {
  RATE_CREDENTIAL_PER_MINUTE: '0',
  RATE_MACHINE_PER_MINUTE: '0',
  RATE_SEARCH_PER_MINUTE: '0',
  RATE_ADDRESS_PER_MINUTE: '0',
  RATE_FAILED_SIGN_INS_PER_MINUTE: '0',
}

const starts = await measureStarts()
const home = await mkdtemp(join(tmpdir(), 'guildhall-bench-'))
const env = { ...process.env, ...NO_LIMITS, PORT: '0', LOG_LEVEL: 'error', LOG_FORMAT: 'json' }
const stack = await child<{ url: string; settings: Record<string, string> }>(
  './stack-process.ts',
  [home],
  env,
)
const { url } = stack.said
const pair = await signIn(url, people.officer)
const officerToken = pair.access_token
const { officer, agent } = await clients(url, officerToken)
const { token: machineToken } = await machineTokenOf(officer, ['org:read'])

const rows = await measureRequests({ ...stack.said, token: officerToken, machineToken })
const loaded = residentMb(stack.process.pid)
const found = await measureSearch({
  officer,
  agent,
  embeddingsUrl: stack.said.settings.EMBEDDINGS_URL ?? '',
})
const used = residentMb(stack.process.pid)
const door = await measureVerification({ ...stack.said, pair, machineToken })
await end(stack.process)
await rm(home, { recursive: true, force: true })

const proxy = rows.find(({ target }) => target.startsWith('bare'))?.perSecond ?? Number.NaN
const ms = (value: number) => `${value.toFixed(1)} ms`
const ms3 = (value: number) => `${value.toFixed(3)} ms`
const line = (...cells: unknown[]) => console.log(`| ${cells.join(' | ')} |`)
console.log(
  `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}\n`,
)
line('what', 'measured')
line('---', '---')
line('`npm start`, empty data folder, to ready', ms(starts.first))
line('`npm start`, later, to ready (median of 5)', ms(starts.later))
line('resident memory at rest', `${starts.mb} MB`)
line('resident memory after the requests below', `${loaded} MB`)
line('after the uploads and searches too', `${used} MB`)
line(
  `search through the gateway, ${found.passages} passages, new questions: p50 / p99`,
  `${ms(found.p50)} / ${ms(found.p99)}`,
)
line('of which the demo embedding model alone: p50', ms(found.model))
line('the same questions again, their vectors kept: p50', ms(found.repeated))
line('the door alone: an access token never seen, p50', ms3(door.first))
line('the same token again, p50', ms3(door.again))
line('a machine token again, p50', ms3(door.machine))
console.log()
line('GET, officer, one query', 'requests/s', 'of the bare proxy', 'p50 ms', 'p99 ms')
line('---', '---', '---', '---', '---')
for (const { target, perSecond, p50, p99 } of rows)
  line(target, perSecond, (perSecond / proxy).toFixed(2), p50, p99)
