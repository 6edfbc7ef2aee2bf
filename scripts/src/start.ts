import { accounts, people } from '@guildhall/sandbox/demo'
import { explainFaults } from './explain.ts'
import { homeOf, loadDotEnv, readRunning } from './home.ts'
import { type Stack, startStack } from './stack.ts'

/** `npm start`: everything in one process until Ctrl-C. */
async function main() {
  const began = performance.now()
  loadDotEnv()
  const home = homeOf(process.env)
  const running = await readRunning(home)
  if (running)
    fail(`Guildhall already runs from ${home} (process ${running.pid}) at ${running.url}`)
  const stack = await startStack({ home, env: process.env })
  process.stdout.write(welcome(stack, home, Math.round(performance.now() - began)))
  let stopping = false
  const stop = async () => {
    if (stopping) process.exit(1) // a second Ctrl-C means now
    stopping = true
    process.stdout.write('Stopping…\n')
    await stack[Symbol.asyncDispose]()
    process.stdout.write('Stopped. The data stay.\n')
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
}

function welcome({ url, sandbox, keysMade }: Stack, home: string, ms: number) {
  const lines = [
    '',
    `Guildhall runs at ${url} (ready in ${ms} ms). Ctrl-C stops it; the data stay in ${home}.`,
    '',
    `  API reference   ${url}/docs`,
    `  Sign in         ${url}/api/auth/login`,
  ]
  if (sandbox) {
    const { officer, member, superadmin } = people
    lines.push(
      '',
      '  Demo org "demo", outside services emulated. Sign in as',
      `    ${officer.username}  officer of Demo Club`,
      `    ${member.username}  member of Demo Club: signs in at ${url}/api/accounts/chat/login`,
      `    ${superadmin.username}  superadmin`,
      `  Its alert feeds post to ${sandbox.chatChannelUrl}`,
      '',
      `  Store site      a token of ${accounts.member.email} for a minute: curl -s '${sandbox.url}/identity/token?user_id=${accounts.member.id}'`,
      `                  writes with a cookie are taken from ${new URL(sandbox.clientUrl).origin} (header Origin)`,
    )
  }
  if (keysMade)
    lines.push(
      '',
      `  Keys were made in ${home}/keys: keep a copy, sealed data does not open without them.`,
    )
  return `${lines.join('\n')}\n\n`
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

explainFaults()
await main()
