import { setTimeout as wait } from 'node:timers/promises'
import { outbound } from '@guildhall/outbound/fetch'
import { guardedFetch } from '@guildhall/outbound/guarded'
import { AppError } from '@guildhall/service/errors'

const TIMEOUT_MS = 20_000
const USER_AGENT = 'Guildhall/1.0 (alert feeds)'
/** Another attempt after a list that did not answer. */
const RETRIES = 1
const PAUSE_MS = 1_000
/** What a reading of a list may end with, beside 200. */
const NOT_THERE = 404

export interface Wanted {
  /** Names the list in errors. */
  list: string
  url: string
  /** The operator named the address: it may be inside. Else it is read from the public internet only. */
  trusted: boolean
  /** Longest answer after decompression. */
  maxBytes: number
  signal: AbortSignal
}

/**
 * The text of a list; nothing where there is none (404). Throws AppError('upstream') whose message names the list and
 * its host alone.
 */
export async function getText(wanted: Wanted): Promise<string | undefined> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await (wanted.trusted ? getTrusted(wanted) : getPublic(wanted))
    } catch (error) {
      if (attempt >= RETRIES || wanted.signal.aborted || !isPassing(error)) throw error
      await wait(PAUSE_MS, undefined, { signal: wanted.signal }).catch(() => undefined)
    }
  }
}

/** The JSON of a list; nothing where there is none. Throws as getText, and `list.not_json`. */
export async function getJson(wanted: Wanted): Promise<unknown> {
  const text = await getText(wanted)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw fault('not_json', `${wanted.list} answered with something that is not JSON`)
  }
}

const headers = { 'user-agent': USER_AGENT }
const textOf = (status: number, bytes: Buffer) =>
  status === NOT_THERE ? undefined : bytes.toString('utf8')

async function getTrusted({ url, list, maxBytes, signal }: Wanted) {
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes, accept: [NOT_THERE], retries: 0 }
  const { status, bytes } = await outbound({ service: list, url, headers, signal, ...limits })
  return textOf(status, bytes)
}

/** Redirects are followed, each of them on the public internet. */
async function getPublic({ url, list, maxBytes, signal }: Wanted) {
  const options = { headers, timeoutMs: TIMEOUT_MS, maxBytes, signal }
  const { status, bytes } = await guardedFetch(url, options).catch((cause) => {
    if (!(cause instanceof AppError)) throw cause
    throw fault(cause.code.replace(/^url\./, ''), `${list}: ${cause.message}`, cause)
  })
  if (status === NOT_THERE || (status >= 200 && status < 300)) return textOf(status, bytes)
  throw fault(status >= 500 ? 'failed' : 'refused', `${list} answered ${status}`)
}

/** Worth another attempt at once. */
const isPassing = (error: unknown) =>
  error instanceof AppError && /\.(failed|timeout|unreachable)$/.test(error.code)

const fault = (reason: string, message: string, cause?: unknown) =>
  new AppError('upstream', `list.${reason}`, message, cause === undefined ? {} : { cause })
