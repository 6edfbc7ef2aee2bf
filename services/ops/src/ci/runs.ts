import { ask } from '@guildhall/bus/calls'
import { onChanged } from '@guildhall/bus/changed'
import type { Bus } from '@guildhall/bus/connect'
import { CI_KEPT_SECONDS, type RepoCi } from '@guildhall/contracts/ci'
import { changed } from '@guildhall/contracts/event'
import { findSecrets } from '@guildhall/contracts/secrets'
import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'
import { type CodeHost, type CodeHostSettings, openCodeHost } from './code-host.ts'

const REPOS_KEPT = 5_000
const OWN_TOKEN = 'github_token'

/** What the code host says of the CI of a repository. */
export interface Ci {
  /** At most 120 seconds old, refusals too: the code host counts requests. */
  of(orgId: number, repo: string): Promise<RepoCi>
}

/** Each org has its own answers, since each asks with its own token. */
export function createCi(bus: Bus, settings: CodeHostSettings, now: () => Date): Ci {
  const codeHost = openCodeHost(settings, now)
  const known = new LRUCache<string, RepoCi>({
    max: REPOS_KEPT,
    ttl: CI_KEPT_SECONDS * 1000,
    perf: { now: () => now().getTime() },
    async fetchMethod(key) {
      const [org, repo = ''] = key.split(' ')
      return readCi(bus, codeHost, Number(org), repo)
    },
  })
  onChanged(bus, changed.org, (id) => {
    for (const key of known.keys()) if (key.startsWith(`${id} `)) known.delete(key)
  })
  return { of: (orgId, repo) => kept(known, `${orgId} ${repo}`) }
}

/** Throws while auth does not answer: what it would say is not kept. */
async function readCi(bus: Bus, codeHost: CodeHost, org_id: number, repo: string): Promise<RepoCi> {
  const { secrets } = await ask(bus, findSecrets('ops'), { org_id, names: [OWN_TOKEN] })
  try {
    return { repo, runs: await codeHost.runs(repo, secrets[OWN_TOKEN]), error: null }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { repo, runs: [], error: error.message }
  }
}
