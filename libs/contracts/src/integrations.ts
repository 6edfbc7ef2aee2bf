import { z } from 'zod'
import { officer } from './caller.ts'
import { audited } from './event.ts'
import { OrgParams } from './fields.ts'
import { route } from './route.ts'
import { type DeclaredSecret, SecretValue } from './secrets.ts'

/** Outside services that an org may connect with keys of its own: groups of its secrets (decisions.md § 1). */

interface IntegrationInfo {
  title: string
  /** The secrets it consists of; with the first one set it is connected. */
  fields: readonly [DeclaredSecret, ...DeclaredSecret[]]
  /** What `limits` of a machine token may hold for it. */
  limits: readonly ('repos' | 'tools')[]
}

export const integrations = {
  podhost: { title: 'Pod hosting', fields: ['podhost_api_key'], limits: ['tools'] },
  code_host: { title: 'Code host', fields: ['github_token'], limits: ['repos', 'tools'] },
  notes: { title: 'Notes database', fields: ['notes_api_key'], limits: ['tools'] },
  calendar: { title: 'Calendar', fields: ['google_service_account'], limits: ['tools'] },
  embeddings: {
    title: 'Embeddings',
    fields: ['embeddings_url', 'embeddings_model', 'embeddings_api_key', 'embeddings_query_prefix'],
    limits: [],
  },
  renderer: {
    title: 'Page renderer',
    fields: ['renderer_url', 'renderer_api_key'],
    limits: [],
  },
  search: {
    title: 'Web search',
    fields: ['search_service_url', 'search_service_engines'],
    limits: [],
  },
} as const satisfies Record<string, IntegrationInfo>
export type IntegrationKey = keyof typeof integrations
export const integrationKeys = Object.keys(integrations) as [IntegrationKey, ...IntegrationKey[]]

export const Integration = z
  .object({
    key: z.enum(integrationKeys),
    title: z.string(),
    state: z
      .enum(['connected', 'deployment_default', 'not_connected'])
      .describe("connected: by the org's own keys, which replace the deployment's as a whole"),
    fields: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        secret: z.boolean().describe('A credential: hide it while it is typed'),
        set: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'Integration' })
export type Integration = z.output<typeof Integration>

const KeyParams = OrgParams.extend({ key: z.string().max(100) })

export const listIntegrations = route({
  method: 'GET',
  url: '/api/dashboard/:org/integrations',
  summary: 'Outside services and whether the org has connected them',
  owner: 'auth',
  caller: officer,
  params: OrgParams,
  reply: { 200: z.object({ integrations: z.array(Integration) }) },
})

export const putIntegration = route({
  method: 'PUT',
  url: '/api/dashboard/:org/integrations/:key',
  summary: 'Set fields of an integration, or remove them with null; those not named stay',
  owner: 'auth',
  caller: officer,
  params: KeyParams,
  body: z.object({ fields: z.record(z.string().max(100), SecretValue.nullable()) }),
  reply: { 200: Integration },
})

export const testIntegration = route({
  method: 'POST',
  url: '/api/dashboard/:org/integrations/:key/test',
  summary: 'Ask the outside service whether it accepts the keys in use',
  owner: 'auth',
  caller: officer,
  params: KeyParams,
  reply: { 200: z.object({ ok: z.boolean(), message: z.string() }) },
})

export const integrationChanged = audited(
  'auth.integration.changed',
  z.object({ key: z.string(), stored: z.array(z.string()), deleted: z.array(z.string()) }),
)
