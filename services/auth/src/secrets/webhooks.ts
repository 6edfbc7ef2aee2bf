import { answer } from '@guildhall/bus/calls'
import { tellChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  findAlertWebhooks,
  removeAlertWebhook,
  storeAlertWebhook,
  webhookSecret,
} from '@guildhall/contracts/alert-webhooks'
import { changed } from '@guildhall/contracts/event'
import { secretDeleted, secretStored } from '@guildhall/contracts/secrets'
import type { Deps } from '../deps.ts'
import { knownOrg, lockOrg } from '../orgs/queries.ts'
import { removeSecret, secretNames, secretSealer, storeSecret } from './queries.ts'
import { checkCount, checkValue } from './rules.ts'

const PREFIX = webhookSecret('')

/** What auth answers to alerts of its webhooks; their values are asked as those of any secret. */
export function answerWebhookCalls({ bus, db, config, now }: Deps) {
  const sealer = secretSealer(config)

  answer(bus, storeAlertWebhook, async ({ org_id, key, webhook_url, by }) => {
    const org = await knownOrg(db, org_id)
    const name = webhookSecret(key)
    checkValue(name, webhook_url, '/body/webhook_url')
    const sealed_value = sealer.seal(webhook_url, { org: org.id, field: name })
    await db.transaction().execute(async (trx) => {
      await lockOrg(trx, org.id) // its secrets are counted under its lock
      const updated_by = by.actor_id ?? by.actor_kind
      const row = { org_id: org.id, name, sealed_value, updated_at: now(), updated_by }
      const { made } = await storeSecret(trx, row)
      if (made) checkCount(await secretNames(trx, org.id))
      await enqueue(trx, audit(secretStored, by, org, { name }))
    })
    tellChanged(bus, changed.org, org.id)
    return {}
  })

  answer(bus, removeAlertWebhook, async ({ org_id, key, by }) => {
    const name = webhookSecret(key)
    await db.transaction().execute(async (trx) => {
      if (await removeSecret(trx, org_id, name))
        await enqueue(trx, audit(secretDeleted, by, { id: org_id }, { name }))
    })
    tellChanged(bus, changed.org, org_id)
    return {}
  })

  answer(bus, findAlertWebhooks, async ({ org_id }) => {
    const names = await secretNames(db, org_id)
    const own = names.filter((name) => name.startsWith(PREFIX))
    return { keys: own.map((name) => name.slice(PREFIX.length)) }
  })
}
