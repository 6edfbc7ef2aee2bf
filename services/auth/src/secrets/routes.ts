import { tellChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import {
  deleteSecret,
  listSecrets,
  putSecret,
  secretDeleted,
  secretStored,
} from '@guildhall/contracts/secrets'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { lockOrg } from '../orgs/queries.ts'
import { removeSecret, secretMarks, secretNames, secretSealer, storeSecret } from './queries.ts'
import { checkCount, checkValue, declaredSecret, shownSecret, shownSecrets } from './rules.ts'

export function secretRoutes(app: App, { db, bus, config, now }: Deps) {
  const sealer = secretSealer(config)

  app.implement(listSecrets, async ({ org }) => ({
    secrets: shownSecrets(await secretMarks(db, org.id)),
  }))

  app.implement(putSecret, async ({ org, caller, params: { name }, body }, reply) => {
    checkValue(name, body.value, '/body/value')
    const sealed_value = sealer.seal(body.value, { org: org.id, field: name })
    const by = { updated_at: now(), updated_by: caller.chat_user_id }
    const row = await db.transaction().execute(async (trx) => {
      await lockOrg(trx, org.id) // its secrets are counted under its lock
      const stored = await storeSecret(trx, { org_id: org.id, name, sealed_value, ...by })
      if (stored.made) checkCount(await secretNames(trx, org.id))
      await enqueue(trx, audit(secretStored, caller, org, { name }))
      return stored
    })
    tellChanged(bus, changed.org, org.id)
    return reply.code(row.made ? 201 : 200).send(shownSecret(name, row))
  })

  app.implement(deleteSecret, async ({ org, caller, params: { name } }) => {
    declaredSecret(name)
    await db.transaction().execute(async (trx) => {
      if (!(await removeSecret(trx, org.id, name)))
        throw new AppError('not_found', 'secret.not_set', `${name} is not set`)
      await enqueue(trx, audit(secretDeleted, caller, org, { name }))
    })
    tellChanged(bus, changed.org, org.id)
    return { deleted: true }
  })
}
