import { startProcesses } from './compose/run.ts'
import { homeOf, loadDotEnv } from './home.ts'

/** `npm run processes`: docker-compose.yml without Docker, each process separately, until Ctrl-C. */
loadDotEnv()
const processes = await startProcesses({ home: homeOf(process.env), env: process.env })
const list = Object.entries(processes.pids()).map(
  ([name, pid]) => `  ${name.padEnd(12)}process ${pid}`,
)
process.stdout.write(
  `Guildhall runs at ${processes.url}. Ctrl-C stops it.\n\n${list.join('\n')}\n\n`,
)
let stopping = false
async function stop() {
  if (stopping) process.exit(1) // a second Ctrl-C means now
  stopping = true
  await processes[Symbol.asyncDispose]()
  process.exit(0)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
