import { services } from '@guildhall/contracts/names'
import { chaos } from './chaos.ts'
import { SERVERS } from './outages.ts'
import { tablesOf } from './report.ts'
import { startForChaos } from './start.ts'

/** `npm run test:chaos`: every victim in turn, a few rounds, and all at once at the end. */
const ROUNDS = 3
const REST_MS = 150
const victims = [...SERVERS, 'gateway', ...services]
const rounds = Array.from({ length: ROUNDS }, () => victims.map((victim) => [victim])).flat()

await using processes = await startForChaos()
const report = await chaos(processes, {
  groups: [...rounds, victims],
  restMs: REST_MS,
  told: (line) => process.stdout.write(`${line}\n`),
})
process.stdout.write(`${tablesOf(report)}\n`)
if (report.faults.length > 0) process.exitCode = 1
