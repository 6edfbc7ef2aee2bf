import { tellChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import { integrationKeys, integrations } from '@guildhall/contracts/integrations'
import {
  createMachineToken,
  deleteMachineToken,
  listMachineTokens,
  MACHINE_TOKEN_PREFIX,
  machineTokenCreated,
  machineTokenRevoked,
  scopes,
  whoami,
} from '@guildhall/contracts/tokens'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { Deps } from '../deps.ts'
import { randomValue, sha256 } from '../hash.ts'
import { stateOf } from '../integrations/state.ts'
import { lockOrg } from '../orgs/queries.ts'
import { secretNames } from '../secrets/queries.ts'
import { DISPLAY_CHARS, deleteToken, liveTokenCount, shown, tokensOfOrg } from './queries.ts'

const DAY_MS = 86_400_000
/** Tokens of one org that count; a list shows no more. */
export const MOST_MACHINE_TOKENS = 200
const scopeList = Object.entries(scopes).map(([name, info]) => ({ name, ...info }))

export function machineTokenRoutes(app: App, { db, bus, config, now }: Deps) {
  app.implement(createMachineToken, async ({ org, caller, body }, reply) => {
    const token = MACHINE_TOKEN_PREFIX + randomValue()
    const { name, kind, expires_days, limits } = body
    const values = {
      id: newId(now().getTime()),
      org_id: org.id,
      name,
      kind,
      scopes: [...new Set(body.scopes)],
      limits: JSON.stringify(limits),
      sha256: sha256(token),
      display: token.slice(0, DISPLAY_CHARS),
      created_by: caller.chat_user_id,
      created_at: now(),
      expires_at: expires_days ? new Date(now().getTime() + expires_days * DAY_MS) : null,
      last_used_at: null,
      chat_user_id: null,
      username: null,
    }
    const row = await db.transaction().execute(async (trx) => {
      await lockOrg(trx, org.id) // its tokens are counted under its lock
      if ((await liveTokenCount(trx, org.id, now())) >= MOST_MACHINE_TOKENS) throw tooMany()
      const said = { token_id: values.id, name, kind, scopes: values.scopes }
      await enqueue(trx, audit(machineTokenCreated, caller, org, said))
      return trx
        .insertInto('machine_tokens')
        .values(values)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
    return reply.code(201).send({ token, ...shown(row) })
  })

  app.implement(listMachineTokens, async ({ org }) => ({
    tokens: (await tokensOfOrg(db, org.id, { now: now(), limit: MOST_MACHINE_TOKENS })).map(shown),
    scopes: scopeList,
    integrations: await connections(org.id),
  }))

  /** Each integration, whether the org has connected it, and which scopes need it. */
  async function connections(orgId: number) {
    const set = await secretNames(db, orgId)
    return integrationKeys.map((key) => ({
      key,
      title: integrations[key].title,
      connected: stateOf(key, set, config) === 'connected',
      scopes: scopeList.filter(({ integration }) => integration === key).map(({ name }) => name),
      limits: [...integrations[key].limits],
    }))
  }

  app.implement(deleteMachineToken, async ({ org, caller, params }) => {
    await db.transaction().execute(async (trx) => {
      const gone = await deleteToken(trx, org.id, params.token_id)
      if (!gone)
        throw new AppError('not_found', 'machine_token.not_found', 'This org has no such token')
      await enqueue(
        trx,
        audit(machineTokenRevoked, caller, org, { token_id: gone.id, name: gone.name }),
      )
    })
    tellChanged(bus, changed.machineToken, params.token_id)
    return { deleted: true }
  })

  app.implement(whoami, async ({ org: { id, prefix, name }, caller }) => ({
    org: { id, prefix, name },
    name: caller.name,
    kind: caller.token_kind,
    scopes: [...caller.scopes],
  }))
}

const tooMany = () =>
  new AppError(
    'conflict',
    'machine_token.too_many',
    `An org has at most ${MOST_MACHINE_TOKENS} machine tokens; delete one that nothing uses`,
  )
