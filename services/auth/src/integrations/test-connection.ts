import type { IntegrationKey } from '@guildhall/contracts/integrations'
import { AppError } from '@guildhall/service/errors'
import type { Config } from '../config.ts'
import { type Outcome, probes } from './probes.ts'
import { type Reach, reachDirectly } from './reach.ts'
import type { Fields } from './state.ts'

/**
 * Asks the outside service with these values. What fails is an outcome with a plain message, which holds neither
 * the values nor what the service said.
 */
export async function testConnection(
  key: IntegrationKey,
  fields: Fields,
  { config, reach }: { config: Config; reach: Reach },
): Promise<Outcome> {
  try {
    return await probes[key](fields, { config, fixed: reachDirectly, reach })
  } catch (error) {
    if (error instanceof AppError) return { ok: false, message: plain(error) }
    throw error
  }
}

/** Only what the guard says of a URL is passed on: other messages name hosts of the deployment. */
function plain({ kind, code, message }: AppError): string {
  if (kind === 'invalid') return message
  if (code.endsWith('.timeout')) return 'It did not answer within 10 seconds.'
  if (code.endsWith('.unreachable')) return 'It could not be reached.'
  if (code.endsWith('.redirected')) return 'It sends on to another address: set that one.'
  return 'It answered something that cannot be used.'
}
