import {
  type Feed,
  FeedKind,
  feedConfigs,
  MOST_FEEDS,
  type NewFeed,
} from '@guildhall/contracts/alerts'
import { AppError, type Detail } from '@guildhall/service/errors'
import type { FeedRow } from '../db.ts'

const EVERY_HOURS = 3

/** What an officer decides of a feed. */
export type Chosen = Pick<FeedRow, 'kind' | 'every_hours' | 'enabled'> & {
  config: Record<string, unknown>
}
export type Known = Chosen | undefined

/** The feed as it is to be: what was named, over what is there. Throws 400, and 409 `feed.kind_fixed`. */
export function merged(known: Known, sent: NewFeed): Chosen {
  if (known && sent.kind !== undefined && sent.kind !== known.kind)
    throw new AppError(
      'conflict',
      'feed.kind_fixed',
      `The feed is of kind ${known.kind}, and stays so; make another one under another key`,
    )
  const kind = known?.kind ?? sent.kind
  if (kind === undefined)
    throw missing('kind', `A new feed needs a kind: ${FeedKind.options.join(' or ')}`)
  return {
    kind,
    config: checkedConfig(kind, { ...known?.config, ...sent.config }),
    every_hours: sent.every_hours ?? known?.every_hours ?? EVERY_HOURS,
    enabled: sent.enabled ?? known?.enabled ?? true,
  }
}

function checkedConfig(kind: FeedKind, config: Record<string, unknown>) {
  const parsed = feedConfigs[kind].safeParse(config)
  if (parsed.success) return parsed.data
  const details: Detail[] = parsed.error.issues.map(({ path, message }) => ({
    path: ['/body/config', ...path.map(String)].join('/'),
    message,
  }))
  const said = details.map(({ path, message }) => `${path}: ${message}`).join('; ')
  throw new AppError('invalid', 'feed.config', `The config of ${kind} is wrong: ${said}`, {
    details,
  })
}

/** Throws where a new feed comes without its webhook. */
export function checkNew(known: Known, { webhook_url }: NewFeed): void {
  if (!known && webhook_url === undefined)
    throw missing(
      'webhook_url',
      'A new feed needs a webhook_url: make a webhook in the settings of the channel and send its URL',
    )
}

/** Throws where the org has as many feeds as one may have. */
export function checkCount(feeds: number): void {
  if (feeds >= MOST_FEEDS)
    throw new AppError(
      'conflict',
      'feed.too_many',
      `An org has at most ${MOST_FEEDS} feeds; delete one that nobody reads`,
    )
}

const missing = (field: string, message: string) =>
  new AppError('invalid', `feed.${field === 'kind' ? 'kind' : 'webhook'}_missing`, message, {
    details: [{ path: `/body/${field}`, message }],
  })

export interface Counts {
  waiting: number
  uncertain: number
}

/** A feed as officers see it: of its webhook only whether it is set. */
export function shownFeed(row: FeedRow, counts: Counts, webhook_set: boolean): Feed {
  const { key, kind, every_hours, enabled, last_error, posted } = row
  return {
    ...{ key, kind, every_hours, enabled, webhook_set, last_error, posted, ...counts },
    config: feedConfigs[kind].parse(row.config),
    seeded_at: row.seeded_at?.toISOString() ?? null,
    last_run_at: row.last_run_at?.toISOString() ?? null,
  }
}

export const noFeed = (key: string) =>
  new AppError('not_found', 'feed.not_found', `There is no alert feed ${key}`)
