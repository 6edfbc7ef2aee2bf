import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { people } from '@guildhall/sandbox/demo'
import { clientOf, cliToken, signIn } from '@guildhall/test-e2e/people'
import { child, end, median } from './children.ts'
import { measureCertificates } from './compute-certificates.ts'
import { runningPod, sftpRates, transferRates } from './compute-transfer.ts'

const MB = 1_000_000
const FILE_BYTES = 90 * MB
const ROUNDS = 3
const SIGNATURES = 5_000
/** As long as what a certificate's signature is over. */
const SIGNED_BYTES = 400

const NO_LIMITS = {
  RATE_CREDENTIAL_PER_MINUTE: '0',
  RATE_CONNECT_PER_MINUTE: '0',
  RATE_ADDRESS_PER_MINUTE: '0',
}

/** `npm run bench compute`: transfers beside the system's sftp, certificates beside bare signing, in one run. */
export async function benchCompute() {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-bench-'))
  const env = { ...process.env, ...NO_LIMITS, PORT: '0', LOG_LEVEL: 'error', LOG_FORMAT: 'json' }
  const stack = await child<{ url: string; settings: Record<string, string> }>(
    './stack-process.ts',
    [home],
    env,
  )
  const { url } = stack.said
  try {
    const officer = (await signIn(url, people.officer)).access_token
    const pod = await runningPod(clientOf(url, officer))
    const bytes = randomBytes(FILE_BYTES)
    const file = join(home, 'sent.bin')
    await writeFile(file, bytes)
    const token = await cliToken(url, people.officer)
    const access = { url, token, pod, home }
    const [ours, theirs] = [[], []] as [Rate[], Rate[]]
    for (let round = 0; round < ROUNDS; round++) {
      ours.push(await transferRates({ url, token: officer, pod, bytes }))
      theirs.push(await sftpRates(access, file, FILE_BYTES))
    }
    const certificates = await measureCertificates({ url, token, pod })
    print({ ours, theirs, certificates })
  } finally {
    await end(stack.process)
    await rm(home, { recursive: true, force: true })
  }
}

/** Megabytes a second, up to the pod and down from it. */
export interface Rate {
  up: number
  down: number
}

function print({ ours, theirs, certificates }: Measured) {
  const rate = (rates: Rate[], way: keyof Rate) => median(rates.map((one) => one[way])).toFixed(0)
  const line = (...cells: unknown[]) => console.log(`| ${cells.join(' | ')} |`)
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}\n`)
  line('90 MB, MB/s, median of 3', 'up', 'down')
  line('---', '---', '---')
  line('through the gateway', rate(ours, 'up'), rate(ours, 'down'))
  line("the system's sftp", rate(theirs, 'up'), rate(theirs, 'down'))
  console.log()
  line('certificates', 'a second', 'p50 ms', 'p99 ms')
  line('---', '---', '---', '---')
  line('through the gateway', certificates.perSecond, certificates.p50, certificates.p99)
  line('bare Ed25519 signing', signatures(), '', '')
}

interface Measured {
  ours: Rate[]
  theirs: Rate[]
  certificates: { perSecond: number; p50: number; p99: number }
}

/** Ed25519 signatures a second in this process, with nothing around them. */
function signatures(): number {
  const { privateKey } = generateKeyPairSync('ed25519')
  const text = randomBytes(SIGNED_BYTES)
  const began = performance.now()
  for (let n = 0; n < SIGNATURES; n++) sign(null, text, privateKey)
  return Math.round((SIGNATURES * 1000) / (performance.now() - began))
}
