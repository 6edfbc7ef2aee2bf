import { toldChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { cliLogout, cliTokenRevoked } from '@guildhall/contracts/cli-tokens'
import { changed } from '@guildhall/contracts/event'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { deleteCliToken } from './queries.ts'

/** A member ends the token of their own CLI, as after losing the machine that it lay on. */
export function cliLogoutRoutes(app: App, { db, bus }: Deps) {
  app.implement(cliLogout, async ({ org, caller }) => {
    const { chat_user_id } = caller
    const token_id = await db.transaction().execute(async (trx) => {
      const id = await deleteCliToken(trx, org.id, chat_user_id)
      if (!id) return undefined
      const said = { token_id: id, chat_user_id }
      const told = toldChanged(changed.machineToken, id)
      await enqueue(trx, audit(cliTokenRevoked, caller, org, said), told)
      return id
    })
    bus.outbox.emit('written')
    return { deleted: token_id !== undefined }
  })
}
