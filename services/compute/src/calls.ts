import { answer } from '@guildhall/bus/calls'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'

/** What compute answers over NATS. */
export function answerCalls({ bus }: Deps) {
  answer(bus, purgeOrgOf('compute'), async () => ({}))
}
