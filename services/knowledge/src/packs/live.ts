import type { PackAnswer, Question } from '@guildhall/contracts/packs'
import type { OrgRef } from '@guildhall/contracts/route'
import { AppError, isDatabaseAway } from '@guildhall/service/errors'
import { type SearchService, searchServiceOf, searchWeb } from '../clients/search-service.ts'
import type { Deps } from '../deps.ts'
import { filled } from './address.ts'
import { type Answer, Answered, type AnswerTools, type Asked } from './answer.ts'
import type { LiveQuery, LoadedPack } from './loaded.ts'
import type { Reader } from './reader.ts'
import { keepResult } from './results.ts'
import { checkParams, cutAtLine, noSearch, packNamed, queryNamed, unsetSetting } from './rules.ts'

/** Of a whole answer: shorter than the wait of tools (libs/contracts/src/tool.ts). */
const ANSWER_MS = 40_000
/** interface.md, Deployment settings: PACK_QUERY_MAX_CHARS. */
const MOST_CHARS = 30_000

interface Needs extends Deps {
  reader: Reader
}
interface Asking {
  org: OrgRef
  pack: LoadedPack
  query: LiveQuery
  asked: Asked
  signal: AbortSignal
}

/**
 * Answers a live query (interface.md, Pack rules). Throws not_found for an unknown pack or query and unprocessable for parameters
 * before anything is fetched, upstream where the page or the pack fails, unavailable where a service or an address is not set.
 */
export async function askPack(
  deps: Needs,
  org: OrgRef,
  { pack: name, source, params }: Question & { pack: string },
): Promise<PackAnswer> {
  const pack = packNamed(deps.packs, name)
  const query = queryNamed(pack, source)
  const asked = checkParams(query.params, params)
  const signal = AbortSignal.timeout(deps.guard.timeoutMs ?? ANSWER_MS)
  const answered = await answerOf(deps, { org, pack, query, asked, signal })
  if (query.index && answered.text.trim())
    await keepResult(deps, org, { pack: name, query, asked, answered })
  const { PACK_QUERY_MAX_CHARS, CAMPUS_QUERY_MAX_CHARS } = deps.config
  const most = PACK_QUERY_MAX_CHARS ?? CAMPUS_QUERY_MAX_CHARS ?? MOST_CHARS
  const { url, text } = answered
  return { pack: name, source, url, text: cutAtLine(text, most) }
}

async function answerOf(deps: Needs, asking: Asking): Promise<Answered> {
  const { org, pack, query, asked, signal } = asking
  if ('unset' in query) throw unsetSetting(pack.name, query.unset)
  const service = query.needs_search
    ? searchServiceOf(deps.config, await deps.secretsOf(org.id))
    : undefined
  if (query.needs_search && !service) throw noSearch(pack.name)
  const answer: Answer =
    'url' in query ? (given, { page }) => page(filled(query.url, given)) : query.answer
  try {
    return Answered.parse(await inTime(answer(asked, toolsOf(deps, asking, service)), signal))
  } catch (error) {
    throw said(deps, asking, error)
  }
}

function toolsOf(
  { reader, guard }: Needs,
  { org, pack, query, signal }: Asking,
  service: SearchService | undefined,
): AnswerTools {
  return {
    settings: pack.settings,
    page: (url) => reader.page(url, { orgId: org.id, needs_js: query.needs_js, signal }),
    json: (url) => reader.json(url, { signal }),
    async searchWeb(words) {
      if (!service) throw noSearch(pack.name)
      return searchWeb(service, words, { signal, guard })
    },
  }
}

/** A function of a pack may wait for something that does not hear the signal. */
function inTime<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const late = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
  return Promise.race([work, late])
}

/** What is told of a failed answer: whatever was wrong with the page or the pack is no fault of the question. */
function said(deps: Deps, { pack, query, signal }: Asking, error: unknown): unknown {
  if (isDatabaseAway(error)) return error
  if (error instanceof AppError) {
    const { kind, code, message, retryAfter } = error
    if (kind === 'unavailable' || kind === 'upstream') return error
    return new AppError('upstream', code, message, {
      cause: error,
      ...(retryAfter && { retryAfter }),
    })
  }
  if (signal.aborted)
    return new AppError(
      'upstream',
      'pack.timeout',
      'The page did not answer in time. Try again later.',
      { cause: error },
    )
  deps.log.error({ err: error, pack: pack.name, query: query.key }, 'A query of a pack failed')
  return new AppError(
    'upstream',
    'pack.failed',
    `The query ${query.key} of the pack ${pack.name} failed; its operator finds the reason in the log`,
    { cause: error },
  )
}
