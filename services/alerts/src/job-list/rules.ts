import { createHash } from 'node:crypto'
import type { JobsConfig } from '@guildhall/contracts/alerts'
import type { Found } from '../items/found.ts'
import { dayOf, daysBetween, postedDay } from '../lists/dates.ts'
import type { Row } from './table.ts'

/** What tells where a visitor came from, and not where the job is (decisions.md § 7). */
const TRACKING = /^(utm_.*|ref|source|gh_src|fbclid|gclid)$/i
/** The same behind a #, where lists that add it to the end of a link put it. */
const TRACKING_BEHIND = /[&?]?\b(utm_\w*|ref|source|gh_src|fbclid|gclid)=[^&]*/gi
/** Marks beside names, such as those of visas: they come and go. */
const MARKS = /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u{FE0F}|\u{200D}/gu
/** Locations that are named; of the others only how many. */
const LOCATIONS_SHOWN = 5
/** Characters of a date that is quoted. */
const DATE_SHOWN = 40

/** The link without what tells where a visitor came from. */
export function withoutTracking(link: string): string {
  const url = new URL(link)
  for (const name of [...url.searchParams.keys()])
    if (TRACKING.test(name)) url.searchParams.delete(name)
  const hash = url.hash.replace(TRACKING_BEHIND, '')
  url.hash = hash === '#' ? '' : hash // a # that is left alone would make another link of it
  return url.href
}

/** The list that a feed reads, by its config. */
export const sourceOf = ({ repo, branch, path }: JobsConfig) => `${repo}@${branch}:${path}`

/** The jobs of a table for a feed, each once, the oldest first: tables have the newest on top. */
export function jobsFrom(rows: readonly Row[], config: JobsConfig, now: Date): Found[] {
  const jobs = new Map<string, Found>()
  for (const row of rows) {
    const job = jobOf(row, config, now)
    if (!jobs.has(job.key)) jobs.set(job.key, job)
  }
  return [...jobs.values()].reverse()
}

/** What is wrong with the dates of a list that a feed leaves old rows out of; null where some can be read. */
export function dateFault(
  rows: readonly Row[],
  { repo, path, max_age_days }: JobsConfig,
  now: Date,
): string | null {
  const [first] = rows
  if (!first || max_age_days === 0) return null
  if (rows.some(({ posted }) => postedDay(posted, now) !== undefined)) return null
  return `${path} of ${repo} has no date that can be read, such as "${first.posted.slice(0, DATE_SHOWN)}": its rows go out however old they are; set max_age_days to 0 if they may, or name another list`
}

function jobOf(row: Row, config: JobsConfig, now: Date): Found {
  const { company, role, locations } = row
  const url = row.link === null ? null : withoutTracking(row.link)
  return {
    key: keyOf(company, role, locations[0] ?? '', url ?? ''),
    source: sourceOf(config),
    title: `${config.label}: ${role} at ${company}`,
    url,
    fields: { Company: company, Role: role, Location: shownLocations(locations) },
    footer: config.repo,
    fits: fits(row, config, now),
  }
}

/** Whether the feed posts such a row. One without a link is closed as well: nobody can apply there. */
function fits(
  { link, closed, posted }: Row,
  { skip_closed, max_age_days }: JobsConfig,
  now: Date,
): boolean {
  if (link === null || (closed && skip_closed)) return false
  if (max_age_days === 0) return true
  const day = postedDay(posted, now)
  return day === undefined || daysBetween(day, dayOf(now)) <= max_age_days
}

/** The same however it is spaced, written in capitals or marked. */
function keyOf(...parts: string[]): string {
  const same = parts.map((part) =>
    part.normalize('NFC').replace(MARKS, '').replace(/\s+/g, ' ').trim().toLowerCase(),
  )
  return createHash('sha256').update(JSON.stringify(same)).digest('base64url')
}

function shownLocations(locations: readonly string[]): string {
  const more = locations.length - LOCATIONS_SHOWN
  const shown = locations.slice(0, LOCATIONS_SHOWN).join('\n')
  return more > 0 ? `${shown}\nand ${more} more` : shown
}
