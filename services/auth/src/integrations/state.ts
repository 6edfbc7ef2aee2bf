import {
  type Integration,
  type IntegrationKey,
  integrationKeys,
  integrations,
} from '@guildhall/contracts/integrations'
import { secrets } from '@guildhall/contracts/secrets'
import { AppError } from '@guildhall/service/errors'
import type { Config } from '../config.ts'

/** Values of an integration by the names of its secrets. */
export type Fields = Record<string, string | undefined>

/** Whether a key of a URL names an integration. Throws `integration.unknown`. */
export function integrationKey(key: string): IntegrationKey {
  const known = integrationKeys.find((one) => one === key)
  if (known) return known
  const message = `There is no such integration; there are ${integrationKeys.join(', ')}`
  throw new AppError('not_found', 'integration.unknown', message)
}

/** Throws unless every name is a field of the integration. */
export function checkFields(key: IntegrationKey, names: readonly string[]): void {
  const fields: readonly string[] = integrations[key].fields
  const unknown = names.filter((name) => !fields.includes(name))
  if (unknown.length === 0) return
  const details = unknown.map((name) => ({ path: `/body/fields/${name}`, message: 'is no field' }))
  const message = `${integrations[key].title} has the fields ${fields.join(', ')}`
  throw new AppError('invalid', 'integration.unknown_field', message, { details })
}

/** The deployment's own values of an integration. */
export function deploymentFields(key: IntegrationKey, config: Config): Fields {
  const all: Partial<Record<IntegrationKey, Fields>> = {
    code_host: { github_token: config.CODEHOST_TOKEN },
    notes: { notes_api_key: config.NOTES_API_KEY },
    calendar: { google_service_account: config.GOOGLE_SERVICE_ACCOUNT },
    embeddings: {
      embeddings_url: config.EMBEDDINGS_URL,
      embeddings_model: config.EMBEDDINGS_MODEL,
      embeddings_api_key: config.EMBEDDINGS_API_KEY,
    },
    renderer: { renderer_url: config.RENDERER_URL, renderer_api_key: config.RENDERER_API_KEY },
    search: { search_service_url: config.SEARCH_SERVICE_URL },
  }
  return all[key] ?? {}
}

/** Whose values count: the org's as soon as it has the first field, else the deployment's. */
export function stateOf(
  key: IntegrationKey,
  set: readonly string[],
  config: Config,
): Integration['state'] {
  const [first] = integrations[key].fields
  if (set.includes(first)) return 'connected'
  return deploymentFields(key, config)[first] ? 'deployment_default' : 'not_connected'
}

/** The integrations that an org can use, by its own keys or the deployment's; `set` are the names of its secrets. */
export const connectedOf = (set: readonly string[], config: Config): IntegrationKey[] =>
  integrationKeys.filter((key) => stateOf(key, set, config) !== 'not_connected')

/** An integration as officers see it; `set` are the names of the secrets that the org has. */
export function shownIntegration(
  key: IntegrationKey,
  set: readonly string[],
  config: Config,
): Integration {
  const { title, fields } = integrations[key]
  return {
    key,
    title,
    state: stateOf(key, set, config),
    fields: fields.map((name) => {
      const { description, kind } = secrets[name]
      return { name, description, secret: ['key', 'json'].includes(kind), set: set.includes(name) }
    }),
  }
}
