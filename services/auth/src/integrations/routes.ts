import { tellChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import {
  integrationChanged,
  integrationKeys,
  integrations,
  listIntegrations,
  putIntegration,
  testIntegration,
} from '@guildhall/contracts/integrations'
import type { App } from '@guildhall/service/app'
import type { Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { lockOrg } from '../orgs/queries.ts'
import { openSecrets } from '../secrets/open.ts'
import { removeSecret, secretNames, secretSealer, storeSecret } from '../secrets/queries.ts'
import { checkValue } from '../secrets/rules.ts'
import { reachDirectly, reachPublic } from './reach.ts'
import {
  checkFields,
  deploymentFields,
  integrationKey,
  shownIntegration,
  stateOf,
} from './state.ts'
import { testConnection } from './test-connection.ts'

export function integrationRoutes(app: App, deps: Deps) {
  const { db, bus, config, now } = deps

  app.implement(listIntegrations, async ({ org }) => {
    const set = await secretNames(db, org.id)
    return { integrations: integrationKeys.map((key) => shownIntegration(key, set, config)) }
  })

  app.implement(putIntegration, async ({ org, caller, params, body: { fields } }) => {
    const key = integrationKey(params.key)
    checkFields(key, Object.keys(fields))
    const given = sealed(org.id, fields)
    const row = { org_id: org.id, updated_at: now(), updated_by: caller.chat_user_id }
    await db.transaction().execute(async (trx) => {
      await lockOrg(trx, org.id)
      for (const one of given) await writeField(trx, { ...row, ...one })
      await enqueue(trx, audit(integrationChanged, caller, org, { key, ...namesOf(given) }))
    })
    tellChanged(bus, changed.org, org.id)
    return shownIntegration(key, await secretNames(db, org.id), config)
  })

  app.implement(testIntegration, async ({ org, params }) => {
    const key = integrationKey(params.key)
    const { title, fields } = integrations[key]
    const state = stateOf(key, await secretNames(db, org.id), config)
    if (state === 'not_connected')
      return { ok: false, message: `${title} is not connected: set ${fields[0]}.` }
    if (state === 'deployment_default') {
      const own = deploymentFields(key, config)
      return testConnection(key, own, { config, reach: reachDirectly })
    }
    const own = await openSecrets(deps, org.id, fields)
    return testConnection(key, own, { config, reach: reachPublic() })
  })

  /** What is to be written; checked and sealed before anything is. */
  function sealed(org: number, fields: Record<string, string | null>) {
    const sealer = secretSealer(config)
    return Object.entries(fields).map(([name, value]) => {
      if (value === null) return { name, sealed_value: null }
      checkValue(name, value, `/body/fields/${name}`)
      return { name, sealed_value: sealer.seal(value, { org, field: name }) }
    })
  }
}

interface Field {
  name: string
  /** Null removes it. */
  sealed_value: string | null
}

async function writeField(
  trx: Trx,
  {
    sealed_value,
    ...row
  }: Field & {
    org_id: number
    updated_at: Date
    updated_by: string
  },
) {
  if (sealed_value === null) await removeSecret(trx, row.org_id, row.name)
  else await storeSecret(trx, { ...row, sealed_value })
}

function namesOf(fields: readonly Field[]) {
  const names = (removed: boolean) =>
    fields.filter((one) => (one.sealed_value === null) === removed).map(({ name }) => name)
  return { stored: names(false), deleted: names(true) }
}
