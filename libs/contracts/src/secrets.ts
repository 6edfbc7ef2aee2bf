import { z } from 'zod'
import { call } from './call.ts'
import { officer } from './caller.ts'
import { audited } from './event.ts'
import { Instant, OrgIdParams } from './fields.ts'
import { type Service, services } from './names.ts'
import { route } from './route.ts'

/** What an org keeps under SECRETS_KEY and nobody is shown again (decisions.md § 1). */

export interface SecretInfo {
  description: string
  /** `key`: printable and without spaces, as headers carry it. `json`: an object. `text`: anything. */
  kind: 'key' | 'url' | 'json' | 'text'
  /** Services that may read the value; a service that comes to need one adds itself here. */
  readers: readonly Service[]
  /** Read of a deactivated org too: what it pays for can be ended. */
  outlasts?: true
}

/** Secrets that every org may set. */
export const secrets = {
  podhost_api_key: {
    description: 'API key of the pod-hosting account',
    kind: 'key',
    readers: ['compute'],
    outlasts: true,
  },
  github_token: { description: 'Token of the code host', kind: 'key', readers: ['compute', 'ops'] },
  notes_api_key: {
    description: 'API key of the notes service',
    kind: 'key',
    readers: ['calendar'],
  },
  google_service_account: {
    description: 'Key file of a service account of the calendar service, as JSON',
    kind: 'json',
    readers: ['calendar'],
  },
  embeddings_url: {
    description: 'OpenAI-compatible base URL of an embedder',
    kind: 'url',
    readers: ['knowledge'],
  },
  embeddings_model: {
    description: 'Model asked of the embedder; it must make 1024 numbers',
    kind: 'text',
    readers: ['knowledge'],
  },
  embeddings_api_key: {
    description: 'Bearer token of the embedder',
    kind: 'key',
    readers: ['knowledge'],
  },
  embeddings_query_prefix: {
    description: 'Text put before queries, not passages',
    kind: 'text',
    readers: ['knowledge'],
  },
  renderer_url: {
    description: 'URL of a service that renders JavaScript pages',
    kind: 'url',
    readers: ['knowledge'],
  },
  renderer_api_key: {
    description: 'Bearer token of the renderer',
    kind: 'key',
    readers: ['knowledge'],
  },
  search_service_url: {
    description: 'URL of a web search service',
    kind: 'url',
    readers: ['knowledge'],
  },
  search_service_engines: {
    description: 'Engines asked, separated by commas',
    kind: 'text',
    readers: ['knowledge'],
  },
  error_webhook_url: {
    description: "Chat webhook that gets the org's new errors",
    kind: 'url',
    readers: ['ops'],
  },
} as const satisfies Record<string, SecretInfo>
export type DeclaredSecret = keyof typeof secrets

/** Secrets that an org names itself, by how their names begin. */
export const secretPrefixes = {
  app_: { description: 'For the environment of an app', kind: 'text', readers: ['compute'] },
  alert_webhook_: {
    description: 'Chat webhook of an alert feed',
    kind: 'url',
    readers: ['alerts'],
  },
} as const satisfies Record<string, SecretInfo>

const OWN_NAME = /^(app_|alert_webhook_)[a-z0-9_-]{1,60}$/

/** What is declared of a secret; nothing for a name that none may have. */
export function secretInfo(name: string): SecretInfo | undefined {
  if (Object.hasOwn(secrets, name)) return secrets[name as DeclaredSecret]
  const prefix = OWN_NAME.exec(name)?.[1]
  return prefix === undefined ? undefined : secretPrefixes[prefix as keyof typeof secretPrefixes]
}

const MOST_SECRET_BYTES = 16 * 1024
export const SecretValue = z
  .string()
  .trim()
  .min(1, 'is empty; delete the secret to remove it')
  .refine(
    (value) => new TextEncoder().encode(value).length <= MOST_SECRET_BYTES,
    'is longer than 16 KiB',
  )

/** A secret as officers see it: never its value. */
export const Secret = z
  .object({
    name: z.string(),
    description: z.string(),
    set: z.boolean(),
    updated_at: Instant.nullable(),
    updated_by: z.string().nullable(),
  })
  .meta({ id: 'Secret' })
export type Secret = z.output<typeof Secret>

const SecretParams = OrgIdParams.extend({ name: z.string().max(100) })

export const listSecrets = route({
  method: 'GET',
  url: '/api/organizations/:org_id/secrets',
  summary: 'Every secret that the org may set, and which it has; never a value',
  owner: 'auth',
  caller: officer,
  params: OrgIdParams,
  reply: { 200: z.object({ secrets: z.array(Secret) }) },
})

export const putSecret = route({
  method: 'PUT',
  url: '/api/organizations/:org_id/secrets/:name',
  summary: 'Set a secret; its value is never shown again',
  owner: 'auth',
  caller: officer,
  params: SecretParams,
  body: z.object({ value: SecretValue }),
  reply: { 200: Secret, 201: Secret },
})

export const deleteSecret = route({
  method: 'DELETE',
  url: '/api/organizations/:org_id/secrets/:name',
  summary: 'Remove a secret',
  owner: 'auth',
  caller: officer,
  params: SecretParams,
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

/**
 * Names of one question. The answer must fit the 1 MiB of a message: 16 KiB of control characters are six times as long
 * in JSON.
 */
export const MOST_SECRETS_ASKED = 10

/** A call of its own for each reader, so that NATS lets nobody ask in the name of another. */
export const findSecrets = (reader: Service) =>
  call({
    service: 'auth',
    name: `find_secrets_for_${reader}`,
    summary: `The values of those of an org's secrets that are set, of the names declared for ${reader}`,
    callers: [reader],
    args: z.object({
      org_id: z.int(),
      names: z.array(z.string().max(100)).max(MOST_SECRETS_ASKED),
    }),
    reply: z.object({ secrets: z.record(z.string(), z.string()) }),
  })

/** The services that may read some secret. */
export const secretReaders = services.filter((service) =>
  [...Object.values(secrets), ...Object.values(secretPrefixes)].some(({ readers }: SecretInfo) =>
    readers.includes(service),
  ),
)
export const secretCalls = secretReaders.map(findSecrets)

const SecretNamed = z.object({ name: z.string() })
export const secretStored = audited('auth.secret.stored', SecretNamed)
export const secretDeleted = audited('auth.secret.deleted', SecretNamed)
