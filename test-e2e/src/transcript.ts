import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { accounts, people } from '@guildhall/sandbox/demo'
import { PROGRAMS } from '@guildhall/sandbox/testing'
import { startStack } from '@guildhall/scripts/stack'

const root = fileURLToPath(new URL('../..', import.meta.url))
const readme = join(root, 'README.md')
const BEGIN = '<!-- transcript:begin (npm run transcript) -->'
const END = '<!-- transcript:end -->'

const JSON_BODY = "-H 'content-type: application/json'"
const OFFICER = '-H "authorization: Bearer $officer"'
const AGENT = '-H "authorization: Bearer $agent"'
const CLI = '-H "authorization: Bearer $cli"'
const MILO = '-H "authorization: Bearer $milo"'
const POD = '$URL/api/compute/demo/pods/$pod'

/** What a newcomer types, and above each what it does. `show` prints JSON from standard input by an expression. */
const STEPS: [said: string, command: string][] = [
  [
    'A helper that prints a part of a JSON answer.',
    `show() {
  node -e 'let text = ""; process.stdin.on("data", (part) => { text += part }).on("end", () => {
    const body = JSON.parse(text); with (body) console.log(eval(process.argv[1])) })' "$1"
}`,
  ],
  [
    'Sign in. A browser does this by itself; the second line is the button of the page.',
    `sign_in() {
  page=$(curl -s -c jar -o /dev/null -w '%{redirect_url}' $URL/api/auth/login)
  code=$(curl -sL -b jar -o /dev/null -w '%{url_effective}' "\${page%%\\?*}" -d "\${page#*\\?}&user_id=$1" | sed 's/.*code=//')
  curl -s $URL/api/auth/exchange ${JSON_BODY} -d "{\\"code\\":\\"$code\\"}" | show access_token
}
officer=$(sign_in ${people.officer.id})
curl -s $URL/api/auth/name ${OFFICER}`,
  ],
  [
    'Make a machine token for an agent. It is shown this once.',
    `org=$(curl -s $URL/api/organizations ${OFFICER} | show organizations[0].id)
agent=$(curl -s $URL/api/organizations/$org/tokens ${OFFICER} ${JSON_BODY} \\
  -d '{"name":"helper","kind":"agent","scopes":["knowledge:read","knowledge:write"]}' | show token)
curl -s $URL/api/auth/machine/whoami ${AGENT}`,
  ],
  [
    'Upload documents of this repository and a public-domain text.',
    `curl -s $URL/api/dashboard/demo/knowledge/documents ${OFFICER} -F folder=library \\
  $(printf -- '-F files=@%s ' CONTRIBUTING.md docs/contributing/add-a-route.md test-e2e/data/us-constitution.md) \\
  | show 'files.map((one) => one.key + (one.error ?? "")).join("\\n")'`,
  ],
  [
    'The agent asks.',
    `curl -s $URL/api/knowledge/search ${AGENT} ${JSON_BODY} \\
  -d '{"query":"When was slavery abolished?","top_k":1}' | show 'results[0].content'
curl -s $URL/api/knowledge/search ${AGENT} ${JSON_BODY} \\
  -d '{"query":"Which files do I touch to add a route?","top_k":1}' | show 'results[0].source_key'`,
  ],
  [
    'The officer sells stickers, and gives Milo points for coming.',
    `product=$(curl -s $URL/api/storefront/demo/products ${OFFICER} ${JSON_BODY} \\
  -d '{"name":"Sticker","price":5,"stock":10}' | show id)
curl -s $URL/api/points/demo/users ${OFFICER} ${JSON_BODY} -d '{"name":"Milo","email":"${accounts.member.email}"}' >/dev/null
curl -s $URL/api/points/demo/assign_points ${OFFICER} ${JSON_BODY} \\
  -d '{"user_identifier":"${accounts.member.email}","points":20,"event":"Kickoff"}' | show total_points`,
  ],
  [
    'Milo signs in at the store site and buys two.',
    `milo=$(curl -s "$SITE" | show token)
curl -s $URL/api/storefront/demo/checkout ${MILO} ${JSON_BODY} \\
  -d "{\\"items\\":[{\\"product_id\\":$product,\\"quantity\\":2}]}" | show 'order.status + ", " + balance + " points left"'`,
  ],
  [
    "Every step but the searches is in the audit log, which the superadmin sees whole; the officer's are:",
    `superadmin=$(sign_in ${people.superadmin.id})
curl -s "$URL/api/superadmin/audit?actor=${people.officer.id}" -H "authorization: Bearer $superadmin" \\
  | show 'entries.map((one) => one.action + " by " + one.actor_kind).sort().join("\\n")' | uniq -c`,
  ],
]

/** The same with a pod: they run where the sandbox has pods. */
const POD_STEPS: typeof STEPS = [
  [
    'The officer makes a pod that Milo may use. From here on the sandbox needs Linux and root.',
    `cd "$(mktemp -d)"
pod=$(curl -s $URL/api/compute/demo/pods ${OFFICER} ${JSON_BODY} \\
  -d '{"allowed_users":["${people.member.id}"]}' | show pod.id)
until curl -s ${POD} ${OFFICER} | grep -qE '"status":"(RUNNING|ERROR)"'; do sleep 0.2; done`,
  ],
  [
    'Milo signs in as the CLI does: a browser shows the token on its last page.',
    `page=$(curl -s -c jar -o /dev/null -w '%{redirect_url}' $URL/api/compute/demo/cli/login)
cli=$(curl -sL -b jar "\${page%%\\?*}" -d "\${page#*\\?}&user_id=${people.member.id}" | sed -n 's/.*id="token">\\([^<]*\\).*/\\1/p')`,
  ],
  [
    'He makes a key, gets a certificate for it and the key of the pod, and enters.',
    `ssh-keygen -q -t ed25519 -N '' -C milo -f key
curl -s $URL/api/compute/demo/me/pods/$pod/connect ${CLI} ${JSON_BODY} \\
  -d "{\\"public_key\\":\\"$(cat key.pub)\\"}" >connection
show certificate <connection >key-cert.pub
show known_hosts <connection >hosts
ssh -i key -o UserKnownHostsFile=hosts -p $(show port <connection) root@$(show host <connection) 'pwd; id -un'`,
  ],
]

/** Whether the sandbox's pods can run on this machine (podhost/run.ts). */
export const hasPods = process.platform === 'linux' && process.getuid?.() === 0

/**
 * Runs the steps in one shell against a stack of its own and answers what it prints, as it stands in the README.
 * Where the sandbox has no pods their steps are not run: what the README says of them is believed.
 */
export async function transcript(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-transcript-'))
  const env = { ...process.env, PORT: '0', LOG_LEVEL: 'fatal' }
  const stack = await startStack({ home, env, programs: PROGRAMS })
  try {
    const steps = hasPods ? [...STEPS, ...POD_STEPS] : STEPS
    const site = `${stack.sandbox?.url}/identity/token?user_id=${accounts.member.id}`
    const outputs = await runSteps(home, steps, { ...process.env, URL: stack.url, SITE: site })
    const blocks = steps.map((step, i) => `${shownStep(step)}\n${outputs[i] ?? ''}`)
    const text = blocks.join('\n').trimEnd()
    return `\`\`\`console\n${text}${hasPods ? '' : await keptPods()}\n\`\`\``
  } finally {
    await stack[Symbol.asyncDispose]()
    await rm(home, { recursive: true, force: true })
  }
}

const shownStep = ([said, command]: (typeof STEPS)[number]) => `# ${said}\n${prompted(command)}`

/** What the README has of the steps with a pod, if their commands are still these. */
async function keptPods(): Promise<string> {
  const there = await readFile(readme, 'utf8')
  const from = there.indexOf(`\n\n# ${POD_STEPS[0]?.[0]}\n`)
  const kept = there.slice(from, there.indexOf('\n```\n', from))
  const same = POD_STEPS.every((step) => kept.includes(`${shownStep(step)}\n`))
  if (from < 0 || !same) throw new Error('The steps with a pod are run by root on Linux alone')
  return kept
}

async function runSteps(
  home: string,
  steps: typeof STEPS,
  given: NodeJS.ProcessEnv,
): Promise<string[]> {
  const mark = '=== next step'
  const env = { ...given, PATH: `${given.PATH}:${join(PROGRAMS, 'openssh/usr/bin')}`, TMPDIR: home }
  const script = steps.map(
    ([, command]) =>
      `${command.replaceAll(' jar ', ` ${home}/jar `)}\nsleep 0.3\necho; echo '${mark}'`,
  )
  const shell = spawn('bash', ['-c', `set -euo pipefail\n${script.join('\n')}`], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  shell.stdout.on('data', (chunk) => {
    output += chunk
  })
  const [code] = await once(shell, 'close')
  if (code !== 0) throw new Error(`The transcript failed:\n${output}`)
  return output.split(mark).map((text) => (text.trim() ? `${text.trim()}\n` : ''))
}

/** A prompt before each command; lines that go on or stand inside a function have none. */
const prompted = (command: string) =>
  command
    .split('\n')
    .map((line, i, lines) => (goesOn(line, lines[i - 1]) ? line : `$ ${line}`))
    .join('\n')

const goesOn = (line: string, before = '') => before.endsWith('\\') || /^[ }]/.test(line)

/** The README with its transcript replaced. */
export async function readmeWith(text: string): Promise<string> {
  const there = await readFile(readme, 'utf8')
  const [before = '', after = ''] = [
    there.slice(0, there.indexOf(BEGIN)),
    there.slice(there.indexOf(END)),
  ]
  return `${before}${BEGIN}\n\n${text}\n\n${after}`
}

if (import.meta.main && process.argv.includes('--write'))
  await writeFile(readme, await readmeWith(await transcript()))
