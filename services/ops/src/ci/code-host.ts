import type { CiRun } from '@guildhall/contracts/ci'
import { outbound } from '@guildhall/outbound/fetch'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'

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
const NOT_THERE = [403, 404]

export interface CodeHostSettings {
  CODEHOST_API_URL: string
  CODEHOST_TOKEN?: string | undefined
}

/**
 * The latest CI runs of a repository. The deployment's token reads public repositories alone: one that is not is read
 * with the org's own token or not at all. Throws AppError with what to do.
 */
export async function readRuns(
  { CODEHOST_API_URL, CODEHOST_TOKEN }: CodeHostSettings,
  repo: string,
  ownToken: string | undefined,
): Promise<CiRun[]> {
  const url = `${CODEHOST_API_URL.replace(/\/+$/, '')}/repos/${repo}`
  const token = ownToken ?? CODEHOST_TOKEN
  if (!ownToken) {
    const about = await read(Repo, url, token)
    if (about?.private !== false) throw noRepo(repo)
  }
  const found = await read(Runs, `${url}/actions/runs?per_page=${RUNS}`, token)
  if (!found) throw noRepo(repo)
  return found.workflow_runs.slice(0, RUNS).map((run) => ({
    workflow: run.name ?? 'workflow',
    branch: run.head_branch,
    event: run.event,
    status: run.status ?? 'unknown',
    conclusion: run.conclusion,
    title: run.display_title,
    url: run.html_url,
    started_at: run.run_started_at ?? run.created_at,
  }))
}

/** The body; nothing where the host says that there is none. */
async function read<S extends z.ZodType>(shape: S, url: string, token: string | undefined) {
  const headers = {
    'user-agent': USER_AGENT,
    accept: 'application/vnd.github+json',
    ...(token && { authorization: `Bearer ${token}` }),
  }
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, retries: 0 }
  const accept = [401, ...NOT_THERE]
  const answer = await outbound({ service: 'codehost', url, headers, ...limits, accept })
  if (answer.status === 401) throw tokenRefused()
  if (NOT_THERE.includes(answer.status)) return undefined
  const parsed = shape.safeParse(answer.json())
  if (!parsed.success) throw unreadable(parsed.error)
  return parsed.data
}

const noRepo = (repo: string) =>
  new AppError(
    'invalid',
    'repo.not_found',
    `There is no public repository ${repo}. Correct the name; for a private one set github_token under Integrations to a token that may read its actions.`,
  )
const tokenRefused = () =>
  new AppError(
    'upstream',
    'codehost.token_refused',
    'The code host refuses the token: make a new one and set it as github_token, or tell the operator where the org has none of its own',
  )
const unreadable = (cause: unknown) =>
  new AppError(
    'upstream',
    'codehost.unreadable',
    'The code host described the runs in a way that is not understood; try again, and tell the operator',
    { cause },
  )
