import type { IntegrationKey } from '@guildhall/contracts/integrations'
import { EMBEDDING_LENGTH } from '@guildhall/contracts/knowledge'
import { z } from 'zod'
import type { Config } from '../config.ts'
import { jsonObject } from '../secrets/rules.ts'
import type { Reach, Reached } from './reach.ts'
import type { Fields } from './state.ts'

/** The version of the notes service's API that we speak; it asks for one. */
const NOTES_VERSION = '2022-06-28'

export interface Outcome {
  ok: boolean
  message: string
}

const Embeddings = z.object({ data: z.array(z.object({ embedding: z.array(z.number()) })) })
const AccountKey = z.object({
  client_email: z.string().min(1),
  private_key: z.string().regex(/^-----BEGIN/),
})

/** One question to each outside service that shows whether the values work. `reach` goes to the URL of the fields. */
export const probes: Record<
  IntegrationKey,
  (fields: Fields, asked: { config: Config; fixed: Reach; reach: Reach }) => Promise<Outcome>
> = {
  podhost: async ({ podhost_api_key }, { config, fixed }) =>
    keyOutcome(await fixed(`${config.PODHOST_API_URL}/pods`, { headers: bearer(podhost_api_key) })),

  code_host: async ({ github_token }, { config, fixed }) =>
    keyOutcome(
      await fixed(`${config.CODEHOST_API_URL}/user`, {
        headers: { ...bearer(github_token), accept: 'application/vnd.github+json' },
      }),
    ),

  notes: async ({ notes_api_key }, { config, fixed }) =>
    keyOutcome(
      await fixed(`${config.NOTES_API_URL}/v1/users/me`, {
        headers: { ...bearer(notes_api_key), 'notion-version': NOTES_VERSION },
      }),
    ),

  calendar: async ({ google_service_account = '' }) =>
    AccountKey.safeParse(jsonObject(google_service_account)).success
      ? {
          ok: true,
          message: 'The key has what it needs. Share the calendar with its client_email.',
        }
      : {
          ok: false,
          message: 'The key lacks client_email or private_key: take the whole key file.',
        },

  embeddings: async (fields, { reach }) => {
    const { embeddings_url = '', embeddings_model: model = 'default', embeddings_api_key } = fields
    const answer = await reach(`${embeddings_url.replace(/\/+$/, '')}/embeddings`, {
      method: 'POST',
      headers: { ...bearer(embeddings_api_key), 'content-type': 'application/json' },
      body: JSON.stringify({ model, input: ['test'] }),
    })
    const outcome = keyOutcome(answer)
    return outcome.ok ? embeddingOutcome(answer.text()) : outcome
  },

  renderer: async ({ renderer_url = '', renderer_api_key }, { reach }) =>
    reachedOutcome(await reach(renderer_url, { headers: bearer(renderer_api_key) })),

  search: async ({ search_service_url = '' }, { reach }) =>
    reachedOutcome(await reach(search_service_url, {})),
}

const bearer = (key: string | undefined): Record<string, string> =>
  key ? { authorization: `Bearer ${key}` } : {}

function keyOutcome({ status }: Reached): Outcome {
  if (status >= 200 && status < 300) return { ok: true, message: 'It answers and accepts the key.' }
  if ([401, 403].includes(status))
    return { ok: false, message: `It refuses the key (${status}). Make a new one and set it.` }
  if (status === 429) return { ok: false, message: 'It is asked too often; try again later.' }
  return { ok: false, message: `It answered ${status} instead of a success.` }
}

/** Any answer shows that it is there: what it asks for differs from one to the next. */
function reachedOutcome({ status }: Reached): Outcome {
  if ([401, 403].includes(status) || status >= 500) return keyOutcome({ status })
  return { ok: true, message: 'It answers.' }
}

function embeddingOutcome(text: string): Outcome {
  const answer = Embeddings.safeParse(jsonObject(text))
  const length = answer.data?.data[0]?.embedding.length
  if (length === undefined)
    return { ok: false, message: 'It answered something else than embeddings.' }
  if (length === EMBEDDING_LENGTH)
    return { ok: true, message: `It answers with embeddings of ${EMBEDDING_LENGTH} numbers.` }
  return {
    ok: false,
    message: `The model makes ${length} numbers instead of ${EMBEDDING_LENGTH}: choose another.`,
  }
}
