import { answer } from '@guildhall/bus/calls'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'

/** What mcp answers over NATS. It keeps nothing of an org. */
export function answerCalls({ bus }: Deps) {
  answer(bus, purgeOrgOf('mcp'), async () => ({}))
}
