import { answer } from '@guildhall/bus/calls'
import { findLinkedEmail, findSession, verifyIdentity } from '@guildhall/contracts/accounts'
import { decideAccess, findSigningKeys, isRevoked, isSuperadmin } from '@guildhall/contracts/auth'
import { findOrgOfServer } from '@guildhall/contracts/bot'
import { tellSections } from '@guildhall/contracts/dashboard'
import { findDisplayNames, findMembership, findOrgsOfPerson } from '@guildhall/contracts/members'
import {
  createOrg,
  findOrg,
  listAllOrgs,
  listPublishers,
  purgeOrg,
  switchModules,
} from '@guildhall/contracts/orgs'
import { findSecrets, secretReaders } from '@guildhall/contracts/secrets'
import { findMachineToken } from '@guildhall/contracts/tokens'
import { AppError } from '@guildhall/service/errors'
import { linkedEmail } from './accounts/links.ts'
import { sessionOf } from './accounts/sessions.ts'
import type { Deps } from './deps.ts'
import { answerLimitCalls } from './machine-tokens/limits.ts'
import { memberOf, shown, tokenByHash, touchToken } from './machine-tokens/queries.ts'
import { membersByIds } from './members/by-ids.ts'
import { administeredOrgs } from './orgs/administered.ts'
import { createOrgFrom } from './orgs/create.ts'
import { sectionsOf } from './orgs/dashboard.ts'
import { purgeOrgWith } from './orgs/purge.ts'
import { everyOrg, orgById, orgByPrefix, orgOfServer, publisherIds } from './orgs/queries.ts'
import { orgRef, shownOrg } from './orgs/rules.ts'
import { switchModulesOf } from './orgs/switch-modules.ts'
import { openSecretsFor } from './secrets/open.ts'
import { answerWebhookCalls } from './secrets/webhooks.ts'
import { isRevokedToken } from './token-pairs/queries.ts'

const OPERATOR = { source: 'cli', actor_kind: 'operator', actor_id: null } as const

/** What auth answers over NATS. */
export function answerCalls(deps: Deps) {
  const { bus, db, access, now } = deps

  answer(bus, findOrg, async (args) => {
    const row = 'id' in args ? await orgById(db, args.id) : await orgByPrefix(db, args.prefix)
    return { org: row ? orgRef(row) : null }
  })
  answer(bus, findOrgOfServer, async ({ chat_server_id }) => {
    const row = await orgOfServer(db, chat_server_id)
    return { org: row ? orgRef(row) : null }
  })
  answer(bus, findOrgsOfPerson, async ({ chat_user_id, type }) => ({
    orgs: (await administeredOrgs(deps, chat_user_id, type)).orgs.map(orgRef),
  }))
  answer(bus, decideAccess, async ({ chat_user_id, org_id, type }) =>
    access.decide(chat_user_id, await known(org_id), type),
  )
  answer(bus, findMembership, async ({ chat_user_id, org_id }) => {
    const { member, officer, valid_until } = await access.membership(
      chat_user_id,
      await known(org_id),
    )
    const { name = null, roles = [] } = member ?? {}
    const until = valid_until.toISOString()
    return { member: member !== undefined, officer, name, roles, valid_until: until }
  })
  answer(bus, findDisplayNames, async ({ org_id, ids }) => {
    const found = await membersByIds(deps, await known(org_id), ids)
    return { names: Object.fromEntries(found.map(({ id, name }) => [id, name])) }
  })
  answer(bus, isSuperadmin, async ({ chat_user_id }) => ({
    superadmin: access.isSuperadmin(chat_user_id),
  }))
  answer(bus, findSigningKeys, () => deps.signer.publicKeys())
  answer(bus, isRevoked, async ({ jti }) => ({ revoked: await isRevokedToken(db, jti) }))
  answer(bus, findMachineToken, async ({ sha256 }) => {
    const row = await tokenByHash(db, sha256, now())
    const org = row && (await orgById(db, row.org_id))
    if (!row || !org) return { token: null }
    await touchToken(db, row.id, now())
    const { id, name, kind, scopes, limits, expires_at } = shown(row)
    const token = { id, name, kind, scopes, limits, expires_at, member: memberOf(row) }
    return { token: { ...token, org: orgRef(org) } }
  })
  answerOperator(deps)
  answerWebhookCalls(deps)
  answerLimitCalls(deps)
  answer(bus, findSession, async ({ value }) => {
    const row = await sessionOf(db, value, { secretKey: deps.config.SECRET_KEY, now: now() })
    if (!row) return { session: null }
    const { id, chat_user_id, username } = row
    return { session: { id, chat_user_id, username } }
  })
  answer(bus, tellSections('auth'), ({ org_id }) => sectionsOf(db, org_id, now()))
  answer(bus, findLinkedEmail, async ({ chat_user_id }) => ({
    email: await linkedEmail(db, chat_user_id),
  }))
  answer(bus, verifyIdentity, async ({ token }) => {
    const { valid_until, ...identity } = await deps.identities.verify(token)
    return { ...identity, valid_until: valid_until.toISOString() }
  })

  answer(bus, listPublishers, async ({ prefixes }) => ({
    org_ids: await publisherIds(db, prefixes),
  }))
  for (const reader of secretReaders) {
    answer(bus, findSecrets(reader), async (args) => ({
      secrets: await openSecretsFor(reader, deps, args),
    }))
  }
  async function known(id: number) {
    const org = await orgById(db, id)
    if (!org) throw new AppError('not_found', 'org.not_found', 'There is no such org')
    return org
  }
}

/** What the operator's commands ask. */
function answerOperator(deps: Deps) {
  const { bus, db } = deps
  answer(bus, createOrg, (wanted) => createOrgFrom(deps, wanted, OPERATOR))
  answer(bus, listAllOrgs, async () => ({ organizations: (await everyOrg(db)).map(shownOrg) }))
  answer(bus, purgeOrg, (wanted) => purgeOrgWith(deps, wanted, OPERATOR))
  answer(bus, switchModules, async ({ prefix, modules }) => {
    const org = await orgByPrefix(db, prefix)
    if (!org) throw new AppError('not_found', 'org.not_found', `There is no org ${prefix}`)
    return { modules: await switchModulesOf(deps, org, modules, OPERATOR) }
  })
}
