import { toldChanged } from '@guildhall/bus/changed'
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
import { pageOf } from '@guildhall/service/paging'
import type { Deps } from '../deps.ts'
import { randomValue, sha256 } from '../hash.ts'
import { stateOf } from '../integrations/state.ts'
import { lockOrg } from '../orgs/queries.ts'
import { secretNames } from '../secrets/queries.ts'
import { DISPLAY_CHARS, deleteToken, liveTokenCount, shown, tokensOfOrg } from './queries.ts'

const DAY_MS = 86_400_000
/** Tokens of one org that count, without those of members' CLIs. */
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

  app.implement(listMachineTokens, async ({ org, query: { limit, cursor } }) => {
    const asked = { limit, cursor, bound: ['machine tokens', org.id] }
    const read = (page: { before: string | undefined; limit: number }) =>
      tokensOfOrg(db, org.id, { ...page, now: now() })
    const { items, next_cursor } = await pageOf(asked, read, ({ place }) => place)
    const integrations = await connections({ db, config }, org.id)
    return { tokens: items.map(shown), next_cursor, scopes: scopeList, integrations }
  })

  app.implement(deleteMachineToken, async ({ org, caller, params }) => {
    await db.transaction().execute(async (trx) => {
      const gone = await deleteToken(trx, org.id, params.token_id)
      if (!gone)
        throw new AppError('not_found', 'machine_token.not_found', 'This org has no such token')
      await enqueue(
        trx,
        audit(machineTokenRevoked, caller, org, { token_id: gone.id, name: gone.name }),
        toldChanged(changed.machineToken, gone.id),
      )
    })
    bus.outbox.emit('written') // every gateway is to know within a second
    return { deleted: true }
  })

  app.implement(whoami, async ({ org: { id, prefix, name }, caller }) => ({
    org: { id, prefix, name },
    name: caller.name,
    kind: caller.token_kind,
    scopes: [...caller.scopes],
  }))
}

/** Each integration, whether the org has connected it, and which scopes need it. */
async function connections({ db, config }: Pick<Deps, 'db' | 'config'>, orgId: number) {
  const set = await secretNames(db, orgId)
  return integrationKeys.map((key) => ({
    key,
    title: integrations[key].title,
    connected: stateOf(key, set, config) === 'connected',
    scopes: scopeList.filter(({ integration }) => integration === key).map(({ name }) => name),
    limits: [...integrations[key].limits],
  }))
}

const tooMany = () =>
  new AppError(
    'conflict',
    'machine_token.too_many',
    `An org has at most ${MOST_MACHINE_TOKENS} machine tokens; delete one that nothing uses`,
  )
