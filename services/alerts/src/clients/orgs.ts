import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { findOrg } from '@guildhall/contracts/orgs'

/** Whether the org is active and has alerts on. Throws AppError('unavailable') while auth does not answer. */
export async function activeOrg(bus: Bus, id: number): Promise<boolean> {
  const { org } = await ask(bus, findOrg, { id })
  return org?.modules.includes('alerts') ?? false
}
