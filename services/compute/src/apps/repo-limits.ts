import { ask } from '@guildhall/bus/calls'
import type { OrgRef } from '@guildhall/contracts/route'
import { withinLimits } from '@guildhall/contracts/token-limits'
import { findTokenLimits } from '@guildhall/contracts/tokens'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import type { By } from './asked.ts'

/** The integration that the limits of repositories stand under. */
const CODE_HOST = 'code_host'

/**
 * Throws 403 where one of these is no repository that the caller may touch: a machine token may be limited
 * to some of the code host (decisions.md § 1). An app without a repository touches none.
 */
export async function checkRepos(
  { bus }: Pick<Deps, 'bus'>,
  { org, caller }: { org: OrgRef; caller: By },
  repos: readonly (string | null | undefined)[],
): Promise<void> {
  const named = repos.filter((repo) => typeof repo === 'string')
  if (caller.kind !== 'machine' || named.length === 0) return
  const { limits } = await ask(bus, findTokenLimits, { org_id: org.id, id: caller.token_id })
  for (const repo of named)
    if (!limits || !withinLimits(limits, CODE_HOST, 'repos', repo)) throw notAllowed(repo)
}

const notAllowed = (repo: string) =>
  new AppError(
    'forbidden',
    'token.repo_not_allowed',
    `This machine token may not touch the repository ${repo}; an officer makes one whose limits name it`,
  )
