import type { CiRun } from '@guildhall/contracts/ci'
import { type OutboundAnswer, outbound } from '@guildhall/outbound/fetch'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import {
  forbidden,
  limited,
  limitedUntil,
  movedAway,
  noRepo,
  type Token,
  tokenRefused,
  unreadable,
} from './code-host-refusals.ts'

/** As much of the code host's REST API (GitHub, 2022-11-28) as is read. */
const Repo = z.object({ private: z.boolean() })
const Runs = z.object({
  workflow_runs: z.array(
    z.object({
      name: z.string().nullish(),
      head_branch: z.string().nullable(),
      event: z.string(),
      status: z.string().nullable(),
      conclusion: z.string().nullable(),
      display_title: z.string(),
      html_url: z.url({ protocol: /^https?$/ }),
      run_started_at: z.iso.datetime({ offset: true }).optional(),
      created_at: z.iso.datetime({ offset: true }),
    }),
  ),
})

const RUNS = 5
const TIMEOUT_MS = 10_000
/** A run is described by some 15 kB. */
const MAX_BYTES = 1024 * 1024
/** The code host refuses requests without one. */
const USER_AGENT = 'Guildhall'
/** After a repository was renamed, its old address leads to the new one (301). */
const REDIRECTS = [301, 302, 307, 308]
const MOST_REDIRECTS = 3
const ANSWERS = [401, 403, 404, 429, ...REDIRECTS]
/** Tokens whose limit is kept in mind. */
const MOST_LIMITED = 5_000

export interface CodeHostSettings {
  CODEHOST_API_URL: string
  CODEHOST_TOKEN?: string | undefined
}
export type CodeHost = ReturnType<typeof openCodeHost>

/** The code host. It counts the requests of each token; one that used up its own asks again when it may. */
export function openCodeHost(settings: CodeHostSettings, now: () => Date) {
  const { CODEHOST_API_URL, CODEHOST_TOKEN } = settings
  const base = CODEHOST_API_URL.replace(/\/+$/, '')
  const limits = new LRUCache<string, number>({ max: MOST_LIMITED })

  /** Throws where the token's limit is used up, before the request or by its answer. */
  async function ask(url: string, token: Token) {
    const key = token?.value ?? ''
    const until = limits.get(key) ?? 0
    if (until > now().getTime()) throw limited(token, until)
    const answer = await request(url, token)
    const told = limitedUntil(answer, now())
    if (told === undefined) return answer
    limits.set(key, told)
    throw limited(token, told)
  }

  /** The answer of where the repository is now. */
  async function follow(repo: string, path: string, token: Token) {
    let url = `${base}/repos/${repo}${path}`
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const answer = await ask(url, token)
      if (!REDIRECTS.includes(answer.status)) return answer
      const next = URL.parse(answer.headers.get('location') ?? '', url)
      // the token goes to nobody else
      if (next?.origin !== new URL(url).origin) break
      url = next.href
    }
    throw movedAway(repo)
  }

  /** The body; nothing where the host says that there is none. */
  async function read<S extends z.ZodType>(shape: S, repo: string, path: string, token: Token) {
    const answer = await follow(repo, path, token)
    if (answer.status === 404) return undefined
    if (answer.status === 401) throw tokenRefused()
    if (answer.status === 403) throw forbidden(token, repo)
    return parse(shape, answer)
  }

  return {
    /**
     * The latest CI runs of a repository. The deployment's token reads public repositories alone: one that is not is read
     * with the org's own token or not at all. Throws AppError with what to do.
     */
    async runs(repo: string, ownToken: string | undefined): Promise<CiRun[]> {
      const token = tokenOf(ownToken, CODEHOST_TOKEN)
      if (!ownToken) {
        const about = await read(Repo, repo, '', token)
        if (about?.private !== false) throw noRepo(repo)
      }
      const found = await read(Runs, repo, `/actions/runs?per_page=${RUNS}`, token)
      if (!found) throw noRepo(repo)
      return found.workflow_runs.slice(0, RUNS).map(runOf)
    },
  }
}

function tokenOf(own: string | undefined, deployments: string | undefined): Token {
  if (own) return { of: 'org', value: own }
  return deployments ? { of: 'deployment', value: deployments } : undefined
}

function request(url: string, token: Token) {
  const headers = {
    'user-agent': USER_AGENT,
    accept: 'application/vnd.github+json',
    ...(token && { authorization: `Bearer ${token.value}` }),
  }
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, retries: 0 }
  return outbound({ service: 'codehost', url, headers, ...limits, accept: ANSWERS })
}

function parse<S extends z.ZodType>(shape: S, answer: OutboundAnswer): z.output<S> {
  const parsed = shape.safeParse(answer.json())
  if (!parsed.success) throw unreadable(parsed.error)
  return parsed.data
}

const runOf = (run: z.output<typeof Runs>['workflow_runs'][number]): CiRun => ({
  workflow: run.name ?? 'workflow',
  branch: run.head_branch,
  event: run.event,
  status: run.status ?? 'unknown',
  conclusion: run.conclusion,
  title: run.display_title,
  url: run.html_url,
  started_at: run.run_started_at ?? run.created_at,
})
