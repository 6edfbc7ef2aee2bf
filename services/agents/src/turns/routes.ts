import { oncePerKey } from '@guildhall/bus/idempotency'
import { commitTurn, readTurnContext } from '@guildhall/contracts/agent-turns'
import type { App } from '@guildhall/service/app'
import { memberOf } from '../clients/members.ts'
import type { Deps } from '../deps.ts'
import { ownerOf } from '../owner.ts'
import { writeTurn } from './commit.ts'
import { turnContext } from './context.ts'

export function turnRoutes(app: App, deps: Deps) {
  const { db, bus } = deps

  app.implement(readTurnContext, ({ org, params, body }) =>
    turnContext(deps, ownerOf(org, params.chat_user_id), body),
  )

  app.implement(commitTurn, async (input, reply) => {
    const owner = ownerOf(input.org, input.params.chat_user_id)
    await memberOf(bus, owner)
    const committed = await db
      .transaction()
      .execute((trx) =>
        oncePerKey(trx, { ...input, route: commitTurn }, () =>
          writeTurn(trx, deps, owner, input.body),
        ),
      )
    return reply.code(201).send(committed)
  })
}
