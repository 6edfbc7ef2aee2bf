import { ask } from '@guildhall/bus/calls'
import { connectBus } from '@guildhall/bus/connect'
import { createOrg } from '@guildhall/contracts/orgs'
import { servers } from '@guildhall/sandbox/demo'
import type { Env } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { createLog } from '@guildhall/service/log'

/** Makes the orgs of the demo world, once: one that was renamed, deactivated or purged since stays as it is. */
export async function makeDemoOrgs({ NATS_URL = '', INTERNAL_KEY = '' }: Env) {
  const log = createLog('operator', { format: 'json', level: 'error' })
  await using bus = await connectBus({
    peer: 'operator',
    url: NATS_URL,
    internalKey: INTERNAL_KEY,
    log,
  })
  const orgs = [
    { prefix: 'demo', name: 'Demo Club', ...servers.demo },
    { prefix: 'rival', name: 'Rival Club', ...servers.rival },
  ]
  for (const { prefix, name, id, officerRoleId } of orgs) {
    const wanted = { prefix, name, chat_server_id: id, officer_role_id: officerRoleId }
    await ask(bus, createOrg, wanted).catch(keepChanged)
  }
}

function keepChanged(error: unknown) {
  if (!(error instanceof AppError && error.kind === 'conflict')) throw error
}
