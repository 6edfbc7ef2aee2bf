import { ask } from '@guildhall/bus/calls'
import { connectBus } from '@guildhall/bus/connect'
import { pathOf } from '@guildhall/contracts/client'
import { createOrg, type Org } from '@guildhall/contracts/orgs'
import { putSecret } from '@guildhall/contracts/secrets'
import { people, servers } from '@guildhall/sandbox/demo'
import type { World } from '@guildhall/sandbox/world'
import {
  CALLER_HEADER,
  callerKey,
  type Identity,
  signIdentity,
} from '@guildhall/service/caller-token'
import type { Env } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { createLog } from '@guildhall/service/log'

const TOKEN_SECONDS = 60

/** Makes the orgs of the demo world, once, Demo Club with pods: an org that was renamed, deactivated or purged since stays as it is. */
export async function makeDemoOrgs(settings: Env, { keys }: World) {
  const { NATS_URL = '', INTERNAL_KEY = '' } = settings
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
    const made = await ask(bus, createOrg, wanted).catch(keepChanged)
    if (prefix === 'demo' && made?.created) await connectPodhost(settings, made.org, keys.podhost)
  }
}

/** Gives the demo org its account at the sandbox's pod host, as the superadmin would through the gateway. */
async function connectPodhost(
  { AUTH_URL, INTERNAL_KEY = '' }: Env,
  { id, prefix, name }: Org,
  value: string,
) {
  const path = pathOf(putSecret, { params: { org_id: id, name: 'podhost_api_key' } })
  const { id: chat_user_id, username } = people.superadmin
  const token = { token_id: newId(), expires_at: Math.floor(Date.now() / 1000) + TOKEN_SECONDS }
  const identity: Identity = {
    caller: { kind: 'officer', superadmin: true, chat_user_id, username, ...token },
    org: { id, prefix, name, modules: [], publisher: false },
    request_id: newId(),
  }
  const target = { service: 'auth', method: 'PUT', path } as const
  const signed = signIdentity(identity, target, callerKey(INTERNAL_KEY, 'auth'))
  const headers = { [CALLER_HEADER]: signed, 'content-type': 'application/json' }
  const reply = await fetch(AUTH_URL + path, {
    method: 'PUT',
    headers,
    body: JSON.stringify({ value }),
  })
  if (!reply.ok) throw new Error(`The demo org has no pod host: ${await reply.text()}`)
}

function keepChanged(error: unknown): undefined {
  if (!(error instanceof AppError && error.kind === 'conflict')) throw error
}
