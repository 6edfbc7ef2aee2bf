import { hash } from 'node:crypto'
import { ask } from '@guildhall/bus/calls'
import { onChanged } from '@guildhall/bus/changed'
import type { Bus } from '@guildhall/bus/connect'
import { findSession, verifyIdentity } from '@guildhall/contracts/accounts'
import { type AccessClaims, decideAccess, isSuperadmin } from '@guildhall/contracts/auth'
import type { Call } from '@guildhall/contracts/call'
import { changed } from '@guildhall/contracts/event'
import { findMembership } from '@guildhall/contracts/members'
import { findOrg } from '@guildhall/contracts/orgs'
import type { OrgRef } from '@guildhall/contracts/route'
import { findMachineToken } from '@guildhall/contracts/tokens'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'
import type { z } from 'zod'
import type { Revocations } from './revocations.ts'

const MOST_KEYS = 10_000
const ORG_MS = 60_000
const MACHINE_TOKEN_MS = 10_000
const SUPERADMIN_MS = 60_000
/** As the contract of the call has it; ours are 87 long. */
const MOST_SESSION_CHARS = 200
const SESSION_MS = 5_000

export type MachineTokenFound = NonNullable<z.output<typeof findMachineToken.reply>['token']>
type SessionFound = NonNullable<z.output<typeof findSession.reply>['session']>
type Asked<C extends Call> = z.input<C['args']>
export type Directory = ReturnType<typeof createDirectory>

/**
 * What the gateway knows of auth, kept for a while: many who ask at once share one call, failures are not kept.
 * Who was revoked meanwhile is heard of by messages. While these may be lost, credentials are asked for each time.
 */
export function createDirectory(bus: Bus, hearing?: Pick<Revocations, 'hears' | 'onHearingAgain'>) {
  const forceRefresh = () => hearing !== undefined && !hearing.hears()
  const orgs = new LRUCache<string | number, { org: OrgRef | null }>({
    max: MOST_KEYS,
    ttl: ORG_MS,
    fetchMethod: (key) =>
      ask(bus, findOrg, typeof key === 'number' ? { id: key } : { prefix: key }),
  })
  const tokens = new LRUCache<string, { token: MachineTokenFound | null }>({
    max: MOST_KEYS,
    ttl: MACHINE_TOKEN_MS,
    fetchMethod: (sha256) => ask(bus, findMachineToken, { sha256 }),
  })
  const decisions = keptWhileValid((asked: Asked<typeof decideAccess>) =>
    ask(bus, decideAccess, asked),
  )
  const memberships = keptWhileValid((asked: Asked<typeof findMembership>) =>
    ask(bus, findMembership, asked),
  )
  const superadmins = new LRUCache<string, { superadmin: boolean }>({
    max: MOST_KEYS,
    ttl: SUPERADMIN_MS,
    fetchMethod: (chat_user_id) => ask(bus, isSuperadmin, { chat_user_id }),
  })
  const sessions = new LRUCache<string, { session: SessionFound | null }>({
    max: MOST_KEYS,
    ttl: SESSION_MS,
    fetchMethod: (value) => ask(bus, findSession, { value }),
  })
  const identities = keptWhileValid((token: string) => ask(bus, verifyIdentity, { token }))
  onChanged(bus, changed.session, () => sessions.clear())
  onChanged(bus, changed.org, () => {
    orgs.clear()
    tokens.clear() // they carry their org
    decisions.clear() // its officer role may be another one
    memberships.clear()
  })
  onChanged(bus, changed.machineToken, () => tokens.clear())
  hearing?.onHearingAgain(() => {
    for (const cache of [orgs, tokens, decisions, memberships, superadmins, sessions, identities])
      cache.clear()
  })

  return {
    async findOrg(key: string | number) {
      return (await kept(orgs, key)).org ?? undefined
    },
    async findMachineToken(sha256: string) {
      return (await kept(tokens, sha256, { forceRefresh: forceRefresh() })).token ?? undefined
    },
    decide({ chat_user_id, type }: Pick<AccessClaims, 'chat_user_id' | 'type'>, org_id: number) {
      const key = `${type ?? ''}${chat_user_id}@${org_id}`
      return kept(decisions, key, { context: { chat_user_id, org_id, type } })
    },
    membership(chat_user_id: string, org_id: number) {
      return kept(memberships, `${chat_user_id}@${org_id}`, { context: { chat_user_id, org_id } })
    },
    async findSession(value: string) {
      return value.length > MOST_SESSION_CHARS
        ? undefined
        : ((await kept(sessions, value, { forceRefresh: forceRefresh() })).session ?? undefined)
    },
    verifyIdentity(token: string) {
      return kept(identities, hash('sha256', token, 'base64url'), { context: token })
    },
    async isSuperadmin(chat_user_id: string) {
      return (await kept(superadmins, chat_user_id)).superadmin
    },
  }
}

/** Answers that say themselves how long they count; many who ask at once share one asking. */
function keptWhileValid<Asking extends {}, Found extends { valid_until: string }>(
  find: (asked: Asking) => Promise<Found>,
) {
  return new LRUCache<string, Found, Asking>({
    max: MOST_KEYS,
    ttl: 1,
    fetchMethod: async (_key, _stale, { context, options }) => {
      const found = await find(context)
      options.ttl = Math.max(1, Date.parse(found.valid_until) - Date.now())
      return found
    },
  })
}
