import { createClient } from '@guildhall/contracts/client'
import type { Scope } from '@guildhall/contracts/tokens'
import { people } from '@guildhall/sandbox/demo'
import type { Processes } from '@guildhall/scripts/compose/run'
import {
  bearer,
  type Client,
  clientOf,
  machineTokenOf,
  memberSession,
  orgIdOf,
  signIn,
} from '../src/people.ts'

/** Longer than any answer of a product that works takes; what hangs longer is written off as unanswered. */
const ANSWER_MS = 30_000
const SCOPES: Scope[] = [
  'knowledge:read',
  'knowledge:write',
  'agents:read',
  'agents:write',
  'points:read',
  'points:write',
]
export const org = { org: 'demo' }

/** Who writes, each as clients with a further header: an Idempotency-Key. */
export type Hands = Awaited<ReturnType<typeof openHands>>
type Headers = Record<string, string>

/** Signs everybody in whose writes make the load. */
export async function openHands({ url, sandbox, settings }: Processes) {
  const as =
    (who: Headers) =>
    (more: Headers = {}) =>
      clientWith(url, { ...who, ...more })
  const [{ access_token }, rival, superadmin, { session }] = await Promise.all([
    signIn(url, people.officer),
    signIn(url, people.rivalOfficer),
    signIn(url, people.superadmin),
    memberSession(url, people.member),
  ])
  const officer = clientOf(url, access_token)
  const { token } = await machineTokenOf(officer, SCOPES)
  const rivalOfficer = clientOf(url, rival.access_token)
  const { origin } = new URL(String(settings.CLIENT_URL))
  return {
    officer: as(bearer(access_token)),
    rivalOfficer: as(bearer(rival.access_token)),
    superadmin: as(bearer(superadmin.access_token)),
    agent: as(bearer(token)),
    member: as({ cookie: session, origin }),
    org_id: String(await orgIdOf(officer)),
    rival_id: String(await orgIdOf(rivalOfficer, 'rival')),
    sandbox,
    settings,
  }
}

const clientWith = (url: string, headers: Headers): Client =>
  createClient((path, init) =>
    fetch(url + path, {
      ...init,
      headers: { ...init.headers, ...headers },
      signal: AbortSignal.timeout(ANSWER_MS),
    }),
  )
