/** A container's health check: `probe.ts <url>` succeeds where the address answers 200 in time. */
const DEADLINE_MS = 4_000

const answer = await fetch(process.argv[2] ?? '', { signal: AbortSignal.timeout(DEADLINE_MS) })
if (answer.status !== 200) {
  process.stderr.write(`${answer.status} ${await answer.text()}\n`)
  process.exitCode = 1
}
