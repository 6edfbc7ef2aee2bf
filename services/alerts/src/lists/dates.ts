const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The earliest zone, UTC+14: there it is the next day already for most of ours. */
const EARLIEST_ZONE_MS = 14 * HOUR_MS
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
/** Days of what ages are told in. */
const UNITS: Record<string, number> = { h: 1 / 24, d: 1, w: 7, mo: 30, y: 365 }
/** `Oct 2`, `October 2nd` and `2 Oct`, each also with a year. */
const MONTH_FIRST = /^(?<name>[a-z]{3,9})\.? (?<day>\d{1,2})(st|nd|rd|th)?(,? (?<year>\d{4}))?$/i
const DAY_FIRST = /^(?<day>\d{1,2})(st|nd|rd|th)? (?<name>[a-z]{3,9})\.?(,? (?<year>\d{4}))?$/i
/** `10/2/2026` as the lists of the code host have it: the month first. */
const SLASHED = /^(?<month>\d{1,2})\/(?<day>\d{1,2})\/(?<year>\d{4})$/

/** The day of a Date, in milliseconds since 1970, by UTC. */
export const dayOf = (date: Date) => Math.floor(date.getTime() / DAY_MS) * DAY_MS

/** Whole days from `from` to `to`. */
export const daysBetween = (from: number, to: number) => Math.round((to - from) / DAY_MS)

/** `October 2`, `Oct 02` or `2 Oct` of a year, as its day; undefined where it is no such day, or of another year. */
export function dayInYear(text: string, year: number): number | undefined {
  const {
    name = '',
    day,
    year: own = year,
  } = partsOf(text, MONTH_FIRST) ?? partsOf(text, DAY_FIRST) ?? {}
  const month = MONTHS.indexOf(name.slice(0, 3).toLowerCase())
  return month < 0 || Number(own) !== year ? undefined : checkedDay(year, month, Number(day))
}

/** `2026-10-06`, also before a time, as its day; undefined where it is no such day. */
export function isoDay(text: string): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})(?!\d)/.exec(text.trim()) ?? []
  return day === undefined ? undefined : checkedDay(Number(year), Number(month) - 1, Number(day))
}

/** The day that a list means by `Oct 06`, `2026-10-06`, `10/6/2026`, `3d` or `today`; undefined where nobody can tell. A date without a year lies behind us. */
export function postedDay(text: string, now: Date): number | undefined {
  return ageDay(text, now) ?? datedDay(text) ?? pastDay(text, now)
}

function ageDay(text: string, now: Date): number | undefined {
  if (/^today$/i.test(text.trim())) return dayOf(now)
  const [, count, unit = ''] = /^(\d{1,4}) ?(mo|[hdwy])$/i.exec(text.trim()) ?? []
  if (count === undefined) return undefined
  const days = Number(count) * (UNITS[unit.toLowerCase()] ?? 1)
  return dayOf(new Date(now.getTime() - days * DAY_MS))
}

/** The day of a date that names its year, which counts as it stands there. */
function datedDay(text: string): number | undefined {
  const slashed = partsOf(text, SLASHED)
  if (slashed)
    return checkedDay(Number(slashed.year), Number(slashed.month) - 1, Number(slashed.day))
  const [, year] = / (\d{4})$/.exec(text.trim()) ?? []
  return isoDay(text) ?? (year === undefined ? undefined : dayInYear(text, Number(year)))
}

/** The last such day, up to the day that it is anywhere: a list is written where its writers live. */
function pastDay(text: string, now: Date): number | undefined {
  const latest = dayOf(new Date(now.getTime() + EARLIEST_ZONE_MS))
  const year = now.getUTCFullYear()
  return [year + 1, year, year - 1]
    .map((one) => dayInYear(text, one))
    .find((day) => day !== undefined && day <= latest)
}

const partsOf = (text: string, pattern: RegExp) =>
  pattern.exec(text.trim())?.groups as Partial<Record<string, string>> | undefined

/** Throws nothing for 31 February: it is no day. */
function checkedDay(year: number, month: number, day: number): number | undefined {
  const date = new Date(Date.UTC(year, month, day))
  return date.getUTCMonth() === month && date.getUTCDate() === day ? date.getTime() : undefined
}
