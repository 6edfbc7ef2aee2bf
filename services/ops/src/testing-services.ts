import type { TestContext } from 'node:test'
import type { Bus } from '@guildhall/bus/connect'
import { busAs } from '@guildhall/bus/testing'
import { moduleNames, type Service } from '@guildhall/contracts/names'
import { testOps } from './testing.ts'

/** Org `id` and its officer, as the gateway tells of them. */
export const officerOf = (id: number, modules: readonly string[] = moduleNames) => ({
  org: { id, prefix: `org${id}`, name: `Org ${id}`, modules, publisher: false },
  caller: {
    kind: 'officer' as const,
    superadmin: false,
    chat_user_id: '12345',
    username: 'ada',
    token_id: 't',
    expires_at: 0,
  },
})
export const params = { org: 'org1' }

/** ops, and connections as other services, which answer what a test has them answer. */
export async function opsWith(t: TestContext, ...peers: Service[]) {
  const ops = await testOps(t)
  const buses: Partial<Record<Service, Bus>> = {}
  for (const peer of peers) buses[peer] = await busAs(t, { url: ops.settings.NATS_URL, peer })
  const as = (peer: Service) => {
    const bus = buses[peer]
    if (!bus) throw new Error(`${peer} is not there`)
    return bus
  }
  const heard = () => Promise.all(Object.values(buses).map((bus) => bus.nats.flush()))
  return { ...ops, bus: as, heard, officer: ops.as(officerOf(1)) }
}
