import { type OutboundRequest, outbound } from '@guildhall/outbound/fetch'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'

/** As much of the code host's REST API (GitHub, 2022-11-28) as compute reads. */
const RepoShape = z.object({ private: z.boolean(), default_branch: z.string().min(1) })

const TIMEOUT_MS = 10_000
const MAX_BYTES = 256 * 1024
/** The code host refuses requests without one. */
const USER_AGENT = 'Guildhall'
/** Unknown or hidden, an empty repository, an unknown ref. */
const NOT_THERE = [404, 409, 422]
/** This media type of a commit is its id alone. */
const SHA = 'application/vnd.github.sha'
const COMMIT = /^[0-9a-f]{40,64}$/

export interface CodeHostSettings {
  CODEHOST_API_URL: string
  CODEHOST_RAW_URL: string
  CODEHOST_TOKEN?: string | undefined
}

interface Wanted {
  repo: string
  path: string
  /** The default branch where nothing is said. */
  ref: string | undefined
  /** The org's own token, asked for only where the repository is not public. */
  ownToken: () => Promise<string | undefined>
}

/**
 * The text of a file as it is at `ref` now, and the commit. The deployment's token finds public repositories
 * and never opens a file: a private repository is read with the org's own token or not at all.
 * Throws `repo.not_found`, `repo.ref_not_found` and `repo.file_not_found` (400), 502 where the host fails.
 */
export async function readRepoFile(
  settings: CodeHostSettings,
  { repo, path, ref, ownToken }: Wanted,
) {
  const api = settings.CODEHOST_API_URL.replace(/\/+$/, '')
  const raw = settings.CODEHOST_RAW_URL.replace(/\/+$/, '')
  const found = await findRepo(api, repo, settings.CODEHOST_TOKEN)
  const open = found?.private === false
  const token = open ? settings.CODEHOST_TOKEN : await ownToken()
  const about = open ? found : token && (await findRepo(api, repo, token))
  if (!about) throw noRepo(repo)

  const at = ref ?? about.default_branch
  const commitUrl = `${api}/repos/${repo}/commits/${encodeURIComponent(at)}`
  const commit = (await ask({ url: commitUrl, token, accepted: SHA }))?.toString('latin1').trim()
  if (!commit || !COMMIT.test(commit)) throw noRef(repo, at)

  const contents = `${api}/repos/${repo}/contents/${path}?ref=${commit}`
  const bytes = open
    ? await ask({ url: `${raw}/${repo}/${commit}/${path}`, accepted: '*/*' })
    : await ask({ url: contents, token, accepted: 'application/vnd.github.raw+json' })
  if (!bytes) throw noFile(repo, path, commit)
  return { text: bytes.toString('utf8'), commit }
}

async function findRepo(api: string, repo: string, token: string | undefined) {
  const accepted = 'application/vnd.github+json'
  const bytes = await ask({ url: `${api}/repos/${repo}`, token, accepted })
  if (!bytes) return undefined
  try {
    return RepoShape.parse(JSON.parse(bytes.toString('utf8')))
  } catch (cause) {
    throw new AppError(
      'upstream',
      'codehost.unreadable',
      'The code host described the repository in a way that is not understood; try again, and tell the operator',
      { cause },
    )
  }
}

/** The body; nothing where the host says that there is none. */
async function ask({
  url,
  token,
  accepted,
}: Pick<OutboundRequest, 'url'> & { token?: string | undefined; accepted: string }) {
  const headers = {
    'user-agent': USER_AGENT,
    accept: accepted,
    ...(token && { authorization: `Bearer ${token}` }),
  }
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, accept: [401, ...NOT_THERE] }
  const { status, bytes } = await outbound({ service: 'codehost', url, headers, ...limits })
  if (status === 401) throw tokenRefused()
  return NOT_THERE.includes(status) ? undefined : bytes
}

const noRepo = (repo: string) =>
  new AppError(
    'invalid',
    'repo.not_found',
    `There is no public repository ${repo}. Correct the name; for a private one set github_token under Integrations to a token that may read it.`,
  )
const noRef = (repo: string, ref: string) =>
  new AppError(
    'invalid',
    'repo.ref_not_found',
    `${repo} has no branch, tag or commit ${ref}; push it first or name another ref`,
  )
const noFile = (repo: string, path: string, commit: string) =>
  new AppError(
    'invalid',
    'repo.file_not_found',
    `${repo} has no file ${path} at ${commit.slice(0, 12)}; add the manifest there or set manifest_path`,
  )
const tokenRefused = () =>
  new AppError(
    'upstream',
    'codehost.token_refused',
    'The code host refuses the token: make a new one and set it as github_token, or tell the operator where the org has none of its own',
  )
