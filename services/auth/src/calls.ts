import { answer } from '@guildhall/bus/calls'
import { decideAccess, findSigningKeys, isRevoked, isSuperadmin } from '@guildhall/contracts/auth'
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
import type { Deps } from './deps.ts'
import { shown, tokenByHash, touchToken } from './machine-tokens/queries.ts'
import { createOrgFrom } from './orgs/create.ts'
import { purgeOrgWith } from './orgs/purge.ts'
import { everyOrg, orgById, orgByPrefix, publisherIds } from './orgs/queries.ts'
import { orgRef, shownOrg } from './orgs/rules.ts'
import { switchModulesOf } from './orgs/switch-modules.ts'
import { openSecretsFor } from './secrets/open.ts'
import { jwks } from './token-pairs/jwks.ts'
import { isRevokedToken } from './token-pairs/queries.ts'

const OPERATOR = { source: 'cli', actor_kind: 'operator', actor_id: null } as const

/** What auth answers over NATS. */
export function answerCalls(deps: Deps) {
  const { bus, db, access, now } = deps

  answer(bus, findOrg, async (args) => {
    const row = 'id' in args ? await orgById(db, args.id) : await orgByPrefix(db, args.prefix)
    return { org: row ? orgRef(row) : null }
  })
  answer(bus, decideAccess, async ({ chat_user_id, org_id }) => {
    const org = await orgById(db, org_id)
    if (!org) throw new AppError('not_found', 'org.not_found', 'There is no such org')
    return access.decide(chat_user_id, org)
  })
  answer(bus, isSuperadmin, async ({ chat_user_id }) => ({
    superadmin: access.isSuperadmin(chat_user_id),
  }))
  answer(bus, findSigningKeys, () => jwks(db))
  answer(bus, isRevoked, async ({ jti }) => ({ revoked: await isRevokedToken(db, jti) }))
  answer(bus, findMachineToken, async ({ sha256 }) => {
    const row = await tokenByHash(db, sha256, now())
    const org = row && (await orgById(db, row.org_id))
    if (!row || !org) return { token: null }
    await touchToken(db, row.id, now())
    const { id, name, kind, scopes, expires_at } = shown(row)
    return { token: { id, name, kind, scopes, expires_at, org: orgRef(org) } }
  })

  answer(bus, createOrg, (wanted) => createOrgFrom(deps, wanted, OPERATOR))
  answer(bus, listAllOrgs, async () => ({ organizations: (await everyOrg(db)).map(shownOrg) }))
  answer(bus, purgeOrg, ({ prefix }) => purgeOrgWith(deps, prefix, OPERATOR))
  answer(bus, listPublishers, async ({ prefixes }) => ({
    org_ids: await publisherIds(db, prefixes),
  }))
  for (const reader of secretReaders) {
    answer(bus, findSecrets(reader), async (args) => ({
      secrets: await openSecretsFor(reader, deps, args),
    }))
  }
  answer(bus, switchModules, async ({ prefix, modules }) => {
    const org = await orgByPrefix(db, prefix)
    if (!org) throw new AppError('not_found', 'org.not_found', `There is no org ${prefix}`)
    return { modules: await switchModulesOf(deps, org, modules, OPERATOR) }
  })
}
