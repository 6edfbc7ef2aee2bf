import type { OutboundRequest } from '@guildhall/outbound/fetch'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import { LRUCache } from 'lru-cache'
import type { Config } from '../config.ts'
import { createLeg, type Leg } from '../search/leg.ts'
import { createEmbedder, type Embedder, type EmbedderSettings } from './embedder.ts'
import type { OrgSecrets } from './org-secrets.ts'

/** 4 kB each. */
const QUERIES_KEPT = 2_000
const EMBEDDERS_KEPT = 1_000
/** What an org that named none asks for, as the deployment does. */
const DEFAULT_MODEL = 'default'
const RETRY_SECONDS = 5

type Deployment = Pick<
  Config,
  | 'EMBEDDINGS_URL'
  | 'EMBEDDINGS_MODEL'
  | 'EMBEDDINGS_API_KEY'
  | 'EMBEDDINGS_QUERY_PREFIX'
  | 'EMBEDDINGS_WEIGHT'
>

interface Needs {
  config: Deployment
  secretsOf: (orgId: number) => Promise<OrgSecrets>
  /** Tests alone allow addresses that are not public. */
  guard: NonNullable<OutboundRequest['guard']>
  log: Log
  /** Watches the embedder of the deployment. */
  leg: Leg
}

export type Embedders = (orgId: number) => Promise<Embedder | undefined>

/**
 * The embedder of an org: its own as soon as it set `embeddings_url`, which replaces the deployment's as a whole; nothing where
 * neither is set. Throws AppError('unavailable', 'embeddings.unknown') while auth does not say what the org set.
 */
export function createEmbedders({ config, secretsOf, guard, log, leg }: Needs): Embedders {
  const queries = new LRUCache<string, Float32Array>({ max: QUERIES_KEPT })
  const known = new LRUCache<string, Embedder>({ max: EMBEDDERS_KEPT })
  return async (orgId) => {
    const secrets = await secretsOf(orgId).catch((cause) => {
      throw unknown(cause)
    })
    const own = ownSettings(secrets, guard)
    const settings = own ?? deploymentSettings(config)
    if (!settings) return undefined
    const name = JSON.stringify([own && orgId, settings]) // two orgs may have the same: each hears of its own failures
    const watched = () => (own ? legOf(orgId, log) : leg)
    const embedder = known.get(name) ?? createEmbedder(settings, queries, watched())
    known.set(name, embedder)
    return embedder
  }
}

/** The failures of its own embedder are told to the org. */
const legOf = (orgId: number, log: Log): Leg =>
  createLeg({
    log,
    org: orgId,
    name: 'embedder of the org',
    meanwhile: 'its searches go by words alone',
  })

function ownSettings(secrets: OrgSecrets, guard: Needs['guard']): EmbedderSettings | undefined {
  const { embeddings_url: url, embeddings_model: model = DEFAULT_MODEL } = secrets
  const { embeddings_api_key: key, embeddings_query_prefix: prefix = '' } = secrets
  return url === undefined ? undefined : { url, model, key, prefix, weight: 1, guard }
}

function deploymentSettings(config: Deployment): EmbedderSettings | undefined {
  const { EMBEDDINGS_URL: url, EMBEDDINGS_MODEL: model } = config
  const { EMBEDDINGS_API_KEY: key, EMBEDDINGS_QUERY_PREFIX: prefix } = config
  const { EMBEDDINGS_WEIGHT: weight } = config
  return url === undefined ? undefined : { url, model, key, prefix, weight }
}

const unknown = (cause: unknown) =>
  new AppError(
    'unavailable',
    'embeddings.unknown',
    'Whether the org has an embedder of its own cannot be said at the moment. Nothing was changed: try again, or send vectors of your own.',
    { cause, retryAfter: RETRY_SECONDS },
  )
