import type { HackathonSource } from '@guildhall/contracts/alerts'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import { type Config, PUBLIC_LISTS } from '../config.ts'
import { storable } from '../items/storable.ts'
import { dayInYear, isoDay } from '../lists/dates.ts'
import { getJson, type Wanted } from '../lists/get.ts'

const MAX_BYTES = 5 * 1024 * 1024
const DAY_MS = 86_400_000

export interface Hackathon {
  name: string
  url: string | null
  /** Days, in milliseconds since 1970. */
  start: number
  end: number
  location: string
  type: 'Online' | 'Hybrid' | 'In person'
}

/** The days that a feed looks at. */
export interface Window {
  from: number
  to: number
}

interface Source {
  title: string
  setting: Exclude<keyof typeof PUBLIC_LISTS, 'CODEHOST_RAW_URL'>
  /** What to read: one address, or one for each month. */
  urls(base: string, window: Window): string[]
  /** The entries of one answer, as they are; undefined where it has another shape. */
  entries(answer: unknown): unknown[] | undefined
  /** Nothing for an entry that cannot be used. */
  read(entry: unknown): Hackathon | undefined
}

const Text = z
  .string()
  .nullish()
  .transform((text) => storable(text ?? '').trim())
const Name = z.string().transform(storable).pipe(z.string().trim().min(1).max(300))
const Flag = z.boolean().nullish().transform(Boolean)

const HackClub = z.object({
  ...{ name: Name, website: Text, start: z.string(), end: Text },
  ...{ city: Text, state: Text, country: Text, virtual: Flag, hybrid: Flag },
})
const EuroHackathon = z.object({
  ...{ name: Name, url: Text, date_start: z.string(), date_end: Text },
  ...{ location: Text, city: Text, country_code: Text },
})
const Hackalist = z.object({
  ...{ title: Name, url: Text, startDate: z.string(), endDate: Text, city: Text },
  year: z.coerce.number().int().min(2000).max(2100),
})

export const sources: Record<HackathonSource, Source> = {
  hackclub: {
    title: 'Hack Club',
    setting: 'ALERTS_HACKCLUB_URL',
    urls: (base) => [base],
    entries: (answer) => z.array(z.unknown()).safeParse(answer).data,
    read(entry) {
      const { data } = HackClub.safeParse(entry)
      if (!data) return undefined
      const { name, website, virtual, hybrid } = data
      const location = placeOf(virtual, data.city, data.state, data.country)
      const type = hybrid ? 'Hybrid' : virtual ? 'Online' : 'In person'
      return withDays(
        { name, url: urlOf(website), location, type },
        isoDay(data.start),
        isoDay(data.end),
      )
    },
  },
  euro_hackathons: {
    title: 'Euro Hackathons',
    setting: 'ALERTS_EURO_HACKATHONS_URL',
    urls: (base) => [base],
    entries: (answer) => z.object({ data: z.array(z.unknown()) }).safeParse(answer).data?.data,
    read(entry) {
      const { data } = EuroHackathon.safeParse(entry)
      if (!data) return undefined
      const { name, url, city, country_code } = data
      const location = data.location || placeOf(false, city, country_code)
      const type = typeOf(location)
      return withDays(
        { name, url: urlOf(url), location, type },
        isoDay(data.date_start),
        isoDay(data.date_end),
      )
    },
  },
  hackalist: {
    title: 'Hackalist',
    setting: 'ALERTS_HACKALIST_URL',
    urls: (base, window) =>
      monthsOf(window).map((month) => `${base.replace(/\/+$/, '')}/${month}.json`),
    entries: (answer) =>
      Object.values(z.record(z.string(), z.array(z.unknown())).safeParse(answer).data ?? {})[0],
    read(entry) {
      const { data } = Hackalist.safeParse(entry)
      if (!data) return undefined
      const { title: name, url, city, year } = data
      const start = dayInYear(data.startDate, year)
      const end = dayInYear(data.endDate, year)
      const later = start !== undefined && end !== undefined && end < start // over New Year
      const last = later ? dayInYear(data.endDate, year + 1) : end
      return withDays({ name, url: urlOf(url), location: city, type: typeOf(city) }, start, last)
    },
  },
}

/** What a source lists now. Throws where it does not answer, or answers in a shape that is not understood. */
export async function readSource(
  source: Source,
  config: Config,
  window: Window,
  signal: AbortSignal,
): Promise<Hackathon[]> {
  const { title: list, setting } = source
  const base = config[setting]
  const trusted = base !== PUBLIC_LISTS[setting]
  const wanted = (url: string): Wanted => ({ list, url, trusted, maxBytes: MAX_BYTES, signal })
  const read = async (url: string) => {
    const answer = await getJson(wanted(url))
    // a month that nobody has written yet; a list that is one file is always there
    if (answer === undefined && source.urls(base, window).length > 1) return []
    const entries = source.entries(answer)
    const found = entries?.flatMap((entry) => source.read(entry) ?? [])
    if (!found || (entries?.length && found.length === 0)) throw changed(list)
    return found
  }
  return (await Promise.all(source.urls(base, window).map(read))).flat()
}

/** `2026/02`, each month of the window. */
function monthsOf({ from, to }: Window): string[] {
  const months = new Set<string>()
  for (let day = from; day <= to; day += DAY_MS)
    months.add(new Date(day).toISOString().slice(0, 7).replace('-', '/'))
  return [...months]
}

function withDays(
  rest: Omit<Hackathon, 'start' | 'end'>,
  start: number | undefined,
  end: number | undefined,
): Hackathon | undefined {
  return start === undefined ? undefined : { ...rest, start, end: Math.max(start, end ?? start) }
}

const urlOf = (text: string) =>
  /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text).href : null
const placeOf = (virtual: boolean, ...parts: string[]) =>
  parts.filter((part) => part !== '').join(', ') || (virtual ? 'Online' : '')
const typeOf = (location: string) =>
  /\b(online|remote|virtual|digital)\b/i.test(location)
    ? ('Online' as const)
    : ('In person' as const)

const changed = (list: string) =>
  new AppError('upstream', 'list.changed', `${list} answered in a shape that is not understood`)
