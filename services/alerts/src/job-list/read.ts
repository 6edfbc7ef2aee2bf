import type { JobsConfig } from '@guildhall/contracts/alerts'
import { AppError } from '@guildhall/service/errors'
import { type Config, PUBLIC_LISTS } from '../config.ts'
import type { Listing } from '../items/found.ts'
import { getText } from '../lists/get.ts'
import { dateFault, jobsFrom, sourceOf } from './rules.ts'
import { readTableApart } from './thread.ts'

/** Some six times as much as the longest list known. */
const MAX_BYTES = 2 * 1024 * 1024
/** What a feed remembers of one list. */
const MOST_ROWS = 10_000

/** The jobs of a repository's list. Throws where it cannot be read or holds no job table. */
export async function readJobs(
  { CODEHOST_RAW_URL }: Config,
  config: JobsConfig,
  now: Date,
  signal: AbortSignal,
): Promise<Listing> {
  const { repo, branch, path } = config
  const place = [...repo.split('/'), ...branch.split('/'), ...path.split('/')]
  const markdown = await getText({
    list: repo,
    url: [CODEHOST_RAW_URL.replace(/\/+$/, ''), ...place.map(encodeURIComponent)].join('/'),
    trusted: CODEHOST_RAW_URL !== PUBLIC_LISTS.CODEHOST_RAW_URL,
    maxBytes: MAX_BYTES,
    signal,
  })
  if (markdown === undefined)
    throw unreadable('not_found', `${repo} is not public, or has no file ${path} on ${branch}`)
  const rows = await readTableApart(markdown)
  if (!rows)
    throw unreadable(
      'no_table',
      `${path} of ${repo} has no table with the columns Company, Role, Location, Application/Link and Date Posted`,
    )
  if (rows.length > MOST_ROWS)
    throw unreadable('too_long', `${path} of ${repo} has more than ${MOST_ROWS} rows`)
  const items = jobsFrom(rows, config, now)
  return { items, sources: [sourceOf(config)], error: dateFault(rows, config, now) }
}

const unreadable = (reason: string, message: string) =>
  new AppError('upstream', `list.${reason}`, `${message}; correct repo, branch or path of the feed`)
