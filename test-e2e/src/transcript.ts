import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { people } from '@guildhall/sandbox/demo'
import { findOpenssh } from '@guildhall/sandbox/podhost/openssh'
import { PROGRAMS, quietLog } from '@guildhall/sandbox/testing'
import { startStack } from '@guildhall/scripts/stack'

const root = fileURLToPath(new URL('../..', import.meta.url))
const readme = join(root, 'README.md')
const BEGIN = '<!-- transcript:begin (npm run transcript) -->'
const END = '<!-- transcript:end -->'

const JSON_BODY = "-H 'content-type: application/json'"
const OFFICER = '-H "authorization: Bearer $officer"'
const AGENT = '-H "authorization: Bearer $agent"'

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
    "Upload this repository's own documents and three public-domain texts.",
    `curl -s $URL/api/dashboard/demo/knowledge/documents ${OFFICER} -F folder=library \\
  $(printf -- '-F files=@%s ' CONTRIBUTING.md docs/contributing/*.md test-e2e/data/*.txt test-e2e/data/us-*.md test-e2e/data/*.html) \\
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
    'Make a pod that every member may use, and wait until it runs.',
    `pod=$(curl -s $URL/api/compute/demo/pods ${OFFICER} ${JSON_BODY} -d '{"name":"lab","is_public":true}' | show pod.id)
running() {
  curl -s $URL/api/compute/demo/pods/$pod ${OFFICER} | show pod.status | grep -Ex "RUNNING|ERROR"
}
until running; do sleep 1; done`,
  ],
  [
    'The member signs in as their CLI does: the last page shows a token.',
    `page=$(curl -s -c jar -o /dev/null -w '%{redirect_url}' $URL/api/compute/demo/cli/login)
cli=$(curl -sL -b jar "\${page%%\\?*}" -d "\${page#*\\?}&user_id=${people.member.id}" | sed -n 's/.*<code id="token">\\([^<]*\\).*/\\1/p')
curl -s $URL/api/compute/demo/me/pods -H "authorization: Bearer $cli" | show 'pods.map((one) => one.name).join()'`,
  ],
  [
    'They make a key, get a certificate for it and are in their own folder of the pod.',
    `cd "$(mktemp -d)"
ssh-keygen -q -t ed25519 -N '' -f key
curl -s $URL/api/compute/demo/me/pods/$pod/connect -H "authorization: Bearer $cli" ${JSON_BODY} \\
  -d "{\\"public_key\\":\\"$(cat key.pub)\\"}" >given
show certificate <given >key-cert.pub
show known_hosts <given >hosts
ssh -i key -o UserKnownHostsFile=hosts -p "$(show port <given)" "root@$(show host <given)" 'pwd; id -un'`,
  ],
  [
    'Every step but the searches is in the audit log, which the superadmin sees whole.',
    `superadmin=$(sign_in ${people.superadmin.id})
curl -s "$URL/api/superadmin/audit?actor=${people.officer.id}" -H "authorization: Bearer $superadmin" \\
  | show 'entries.map((one) => one.action + " by " + one.actor_kind).sort().join("\\n")' | uniq -c`,
  ],
]

/** Runs the steps in one shell against a stack of its own and answers what it prints, as it stands in the README. */
export async function transcript(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-transcript-'))
  const env = { ...process.env, PORT: '0', LOG_LEVEL: 'fatal' }
  const stack = await startStack({ home, env })
  try {
    const { PATH } = process.env
    const ssh = await findOpenssh({ home: PROGRAMS, log: quietLog, env: process.env })
    const own = { PATH: `${PATH}:${join(ssh, 'usr/bin')}`, TMPDIR: home, HOME: home }
    const outputs = await runSteps(home, { ...process.env, ...own, URL: stack.url })
    const blocks = STEPS.map(
      ([said, command], i) => `# ${said}\n${prompted(command)}\n${outputs[i] ?? ''}`,
    )
    return `\`\`\`console\n${blocks.join('\n').trimEnd()}\n\`\`\``
  } finally {
    await stack[Symbol.asyncDispose]()
    await rm(home, { recursive: true, force: true })
  }
}

async function runSteps(home: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const mark = '=== next step'
  const script = STEPS.map(
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
