import type { HackathonSource, HackathonsConfig } from '@guildhall/contracts/alerts'
import { AppError } from '@guildhall/service/errors'
import type { Config } from '../config.ts'
import type { Found, Listing } from '../items/found.ts'
import { dayOf } from '../lists/dates.ts'
import { type Hackathon, readSource, sources, type Window } from './sources.ts'

const DAY_MS = 86_400_000

/**
 * The hackathons of a feed's sources, read side by side; a source that fails is named. Throws where all do.
 * What starts outside of the window is left out: a later one comes in its time.
 */
export async function readHackathons(
  settings: Config,
  config: HackathonsConfig,
  now: Date,
  signal: AbortSignal,
): Promise<Listing> {
  const today = dayOf(now)
  const window = {
    from: today + config.min_days_ahead * DAY_MS,
    to: today + config.max_days_ahead * DAY_MS,
  }
  const answers = await Promise.allSettled(
    config.sources.map((name) => readSource(sources[name], settings, window, signal)),
  )
  const failed = answers.flatMap((one) =>
    one.status === 'rejected' ? [one.reason as unknown] : [],
  )
  const fault = failed.find((error) => !(error instanceof AppError))
  if (fault) throw fault
  const error = failed.map((one) => (one as AppError).message).join('; ') || null
  if (error !== null && failed.length === answers.length)
    throw new AppError('upstream', 'feed.all_failed', error)
  const read = config.sources.flatMap((name, n) => {
    const answer = answers[n]
    return answer?.status === 'fulfilled' ? [{ name, found: answer.value }] : []
  })
  return { items: itemsFrom(read, window), sources: read.map(({ name }) => name), error }
}

/** Each event once, under its name in lower case, the soonest first. */
export function itemsFrom(
  read: readonly { name: HackathonSource; found: readonly Hackathon[] }[],
  { from, to }: Window,
): Found[] {
  const events = new Map<string, { source: HackathonSource; event: Hackathon }>()
  for (const { name, found } of read)
    for (const event of found) {
      const key = event.name.replace(/\s+/g, ' ').toLowerCase()
      if (event.start >= from && event.start <= to && !events.has(key))
        events.set(key, { source: name, event })
    }
  return [...events]
    .sort(([, a], [, b]) => a.event.start - b.event.start)
    .map(([key, { source, event }]) => itemOf(key, source, event))
}

function itemOf(key: string, source: HackathonSource, event: Hackathon): Found {
  const { name, url, location, type } = event
  return {
    ...{ key, source, url, title: name },
    fields: { Dates: shownDays(event), Location: location, Type: type },
    footer: sources[source].title,
    fits: true,
  }
}

const DAYS = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' })
const shownDays = ({ start, end }: Hackathon) => DAYS.formatRange(start, end)
