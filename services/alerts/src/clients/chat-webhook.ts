import { outbound } from '@guildhall/outbound/fetch'
import { AppError } from '@guildhall/service/errors'
import { type Embed, messageOf } from '../items/embed.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 256 * 1024
const SERVICE = 'chat_webhook'
const BAD_REQUEST = 400
/** Of Discord's webhooks: a message that it does not take, a wrong token, a deleted webhook. */
const REFUSALS = [BAD_REQUEST, 401, 403, 404, 410]
/** The connection never came to be, so nothing was sent (codes of Node and undici). */
const NEVER_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|(UN)?ABLE_TO_\w+|CERT_\w+|\w*SELF_SIGNED\w*|ERR_TLS_\w+)$/

/** What became of a post. `refused`: it does not stand in the channel. `unknown`: nobody can tell. */
export type Outcome =
  | { is: 'posted' }
  | {
      is: 'refused'
      why: string /** Others would be refused alike. */
      all: boolean
      afterMs?: number
    }
  | { is: 'unknown'; why: string }

/** The webhook, if it leads where webhooks may. Throws `feed.webhook_malformed` and `feed.webhook_not_allowed`, which never quote it. */
export function checkedWebhook(text: string, origins: readonly string[]): URL {
  const url = URL.parse(text.trim())
  if (!url || url.username || url.password || url.pathname === '/')
    throw refusal(
      'malformed',
      'webhook_url is not a whole URL; copy it from the settings of the channel',
    )
  if (!origins.includes(url.origin))
    throw refusal('not_allowed', `webhook_url must begin with one of ${origins.join(', ')}`)
  return url
}

/**
 * Sends one message, once. Nothing that it answers or throws holds the URL. A shutdown does not cut it short: nobody
 * would know then whether it was posted.
 */
export async function post(url: URL, embed: Embed): Promise<Outcome> {
  const target = new URL(url)
  target.searchParams.set('wait', 'true') // else a message that is not kept is no error
  try {
    const { status } = await outbound({
      ...{ service: SERVICE, url: target.href, method: 'POST', body: messageOf(embed) },
      ...{ timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, retries: 0, accept: REFUSALS },
      // over plain http only what the operator named on this machine is reached
      ...(url.protocol === 'https:' && { guard: {} }),
    })
    return REFUSALS.includes(status) ? refusedBy(status) : { is: 'posted' }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return outcomeOf(error)
  }
}

function outcomeOf(error: AppError): Outcome {
  const why = error.message
  const reason = error.code.replace(`${SERVICE}.`, '')
  if (reason === 'rate_limited')
    return { is: 'refused', why, all: true, afterMs: (error.retryAfter ?? 1) * 1000 }
  const refused = ['refused', 'redirected', 'not_allowed'].includes(reason) || wasNeverSent(error)
  return refused ? { is: 'refused', why, all: true } : { is: 'unknown', why }
}

/** A bad request is about this message; anything else about the webhook. */
function refusedBy(status: number): Outcome {
  const why = `The chat platform answered ${status}`
  if (status === BAD_REQUEST) return { is: 'refused', why: `${why} to this item`, all: false }
  return {
    is: 'refused',
    why: `${why}: there is no such webhook; send a new webhook_url`,
    all: true,
  }
}

function wasNeverSent(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return NEVER_SENT.test(String(code)) || wasNeverSent(error.cause)
}

const refusal = (reason: string, message: string) =>
  new AppError('invalid', `feed.webhook_${reason}`, message, {
    details: [{ path: '/body/webhook_url', message }],
  })
