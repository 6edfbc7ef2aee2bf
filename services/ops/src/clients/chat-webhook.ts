import { outbound } from '@guildhall/outbound/fetch'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 256 * 1024
const SERVICE = 'error_webhook'

export interface Webhook {
  url: string
  /** An officer gave it: it is asked on the public internet only, unless the operator named its origin. */
  guarded: boolean
}

/** Posts one message, once. What it throws never holds the URL: AppError `error_webhook.refused` and others. */
export async function postMessage({ url, guarded }: Webhook, content: string) {
  await outbound({
    ...{ service: SERVICE, url, method: 'POST', retries: 0 },
    ...{ timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES },
    body: { content, allowed_mentions: { parse: [] } },
    ...(guarded && { guard: {} }),
  })
}
