import { outbound } from '@guildhall/outbound/fetch'
import { guardedFetch } from '@guildhall/outbound/guarded'
import { AppError } from '@guildhall/service/errors'
import type { Config } from '../config.ts'

/** The pod host's own proxy. */
const PROXY_URL = 'https://{pod}-{port}.proxy.runpod.net'
const TIMEOUT_MS = 10_000
/** From here on it is not healthy (decisions.md § 2). */
const FIRST_BAD_STATUS = 400
/** Where the operator named the proxy every status is an answer, redirects too. */
const ANY_STATUS = Array.from({ length: 300 }, (_, n) => 300 + n)

/** Asks the health path of a pod. Answers why it is not healthy, or nothing where it is. Follows no redirect. */
export async function whyUnhealthy(
  { APPS_PROXY_URL }: Pick<Config, 'APPS_PROXY_URL'>,
  podId: string,
  { port, path }: { port: number; path: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const base = (APPS_PROXY_URL ?? PROXY_URL)
    .replaceAll('{pod}', podId)
    .replaceAll('{port}', String(port))
  const url = base.replace(/\/+$/, '') + path
  const limits = { timeoutMs: TIMEOUT_MS, signal }
  try {
    const { status } = APPS_PROXY_URL
      ? await outbound({ service: 'app', url, ...limits, retries: 0, accept: ANY_STATUS })
      : await guardedFetch(url, { ...limits, redirect: 'manual' })
    if (status < FIRST_BAD_STATUS) return undefined
    return `${path} on port ${port} answered ${status}`
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `${path} on port ${port} did not answer: ${error.message}`
  }
}
