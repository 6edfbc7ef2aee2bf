import { onChanged } from '@guildhall/bus/changed'
import { busAs } from '@guildhall/bus/testing'
import type { Changed } from '@guildhall/contracts/event'
import type { TestAuth } from './testing.ts'

/** The ids of the things of this kind that gateways are told of from now on. */
export async function toldGateways(
  t: Parameters<typeof busAs>[0],
  { settings }: Pick<TestAuth, 'settings'>,
  thing: Changed,
) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'gateway' })
  const ids: string[] = []
  onChanged(bus, thing, (id) => ids.push(id))
  await bus.nats.flush()
  return ids
}
