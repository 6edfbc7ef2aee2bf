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
import { findMachineToken } from '@guildhall/contracts/tokens'
import type { z } from 'zod'
import { createKnown, untilItsEnd } from './known.ts'
import type { Revocations } from './revocations.ts'

const ORG_MS = 60_000
const MACHINE_TOKEN_MS = 10_000
const SUPERADMIN_MS = 60_000
/** As the contract of the call has it; ours are 87 long. */
const MOST_SESSION_CHARS = 200
const SESSION_MS = 5_000

export type MachineTokenFound = NonNullable<z.output<typeof findMachineToken.reply>['token']>
type Asked<C extends Call> = z.input<C['args']>
export type Directory = ReturnType<typeof createDirectory>

type Caches = ReturnType<typeof createCaches>

/**
 * What the gateway knows of auth, kept for a while: many who ask at once share one call, failures are not kept.
 * Who was revoked meanwhile is heard of by messages. While these may be lost, credentials are asked for each time,
 * and afterwards those known are forgotten; all else ends by itself within 60 s.
 */
export function createDirectory(bus: Bus, hearing?: Pick<Revocations, 'hears' | 'onHearingAgain'>) {
  const ifDeaf = () => ({ forceRefresh: hearing !== undefined && !hearing.hears() })
  const caches = createCaches(bus)
  const { orgs, tokens, decisions, memberships, superadmins, sessions, identities } = caches
  dropChanges(bus, caches)
  hearing?.onHearingAgain(() => {
    tokens.drop(() => true)
    sessions.drop(() => true)
  })

  return {
    async findOrg(key: string | number) {
      return (await orgs.get(key, key)).org ?? undefined
    },
    async findMachineToken(sha256: string) {
      return (await tokens.get(sha256, sha256, ifDeaf())).token ?? undefined
    },
    decide({ chat_user_id, type }: Pick<AccessClaims, 'chat_user_id' | 'type'>, org_id: number) {
      const key = `${type ?? ''}${chat_user_id}@${org_id}`
      return decisions.get(key, { chat_user_id, org_id, type })
    },
    membership(chat_user_id: string, org_id: number) {
      return memberships.get(`${chat_user_id}@${org_id}`, { chat_user_id, org_id })
    },
    async findSession(value: string) {
      if (value.length > MOST_SESSION_CHARS) return undefined
      return (await sessions.get(value, value, ifDeaf())).session ?? undefined
    },
    verifyIdentity(token: string) {
      return identities.get(hash('sha256', token, 'base64url'), token)
    },
    async isSuperadmin(chat_user_id: string) {
      return (await superadmins.get(chat_user_id, chat_user_id)).superadmin
    },
  }
}

function createCaches(bus: Bus) {
  return {
    orgs: createKnown({
      find: (key: string | number) =>
        ask(bus, findOrg, typeof key === 'number' ? { id: key } : { prefix: key }),
      msOf: () => ORG_MS,
    }),
    tokens: createKnown({
      find: (sha256: string) => ask(bus, findMachineToken, { sha256 }),
      msOf: () => MACHINE_TOKEN_MS,
    }),
    sessions: createKnown({
      find: (value: string) => ask(bus, findSession, { value }),
      msOf: () => SESSION_MS,
    }),
    decisions: createKnown({
      find: (asked: Asked<typeof decideAccess>) => ask(bus, decideAccess, asked),
      msOf: untilItsEnd,
    }),
    memberships: createKnown({
      find: (asked: Asked<typeof findMembership>) => ask(bus, findMembership, asked),
      msOf: untilItsEnd,
    }),
    superadmins: createKnown({
      find: (chat_user_id: string) => ask(bus, isSuperadmin, { chat_user_id }),
      msOf: () => SUPERADMIN_MS,
    }),
    identities: createKnown({
      find: (token: string) => ask(bus, verifyIdentity, { token }),
      msOf: untilItsEnd,
    }),
  }
}

/** Each message drops what is about the thing that it names; others' goes on. */
function dropChanges(bus: Bus, { orgs, tokens, sessions, decisions, memberships }: Caches) {
  onChanged(bus, changed.session, (id) => sessions.drop((_, { session }) => session?.id === id))
  onChanged(bus, changed.machineToken, (id) => tokens.drop((_, { token }) => token?.id === id))
  onChanged(bus, changed.org, (id) => {
    const isOfOrg = (key: string | number) => String(key).endsWith(`@${id}`)
    decisions.drop(isOfOrg) // its officer role may be another one
    memberships.drop(isOfOrg)
    // they carry their org; of an org that was off, or a prefix that was free, nothing was known
    tokens.drop((_, { token }) => !token || String(token.org.id) === id)
    orgs.drop((key, { org }) =>
      org ? String(org.id) === id : typeof key === 'string' || key === Number(id),
    )
  })
}
