const DAY_MS = 86_400_000
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
/** Days of what ages are told in. */
const UNITS: Record<string, number> = { h: 1 / 24, d: 1, w: 7, mo: 30, y: 365 }

/** The day of a Date, in milliseconds since 1970, by UTC. */
export const dayOf = (date: Date) => Math.floor(date.getTime() / DAY_MS) * DAY_MS

/** Whole days from `from` to `to`. */
export const daysBetween = (from: number, to: number) => Math.round((to - from) / DAY_MS)

/** `October 2` or `Oct 02` of a year, as its day; undefined where it is no such day. */
export function dayInYear(text: string, year: number): number | undefined {
  const [, name = '', day = ''] = /^([A-Za-z]{3,9})\.? (\d{1,2})$/.exec(text.trim()) ?? []
  const month = MONTHS.indexOf(name.slice(0, 3).toLowerCase())
  return month < 0 ? undefined : checkedDay(year, month, Number(day))
}

/** `2026-10-06`, also before a time, as its day; undefined where it is no such day. */
export function isoDay(text: string): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})(?!\d)/.exec(text.trim()) ?? []
  return day === undefined ? undefined : checkedDay(Number(year), Number(month) - 1, Number(day))
}

/** The day that a list means by `Oct 06`, `2026-10-06` or `3d`; undefined where nobody can tell. A date without a year lies behind us. */
export function postedDay(text: string, now: Date): number | undefined {
  const today = dayOf(now)
  const [, count, unit = ''] = /^(\d{1,4}) ?(mo|[hdwy])$/i.exec(text.trim()) ?? []
  if (count !== undefined)
    return dayOf(
      new Date(now.getTime() - Number(count) * (UNITS[unit.toLowerCase()] ?? 1) * DAY_MS),
    )
  const year = now.getUTCFullYear()
  const thisYear = isoDay(text) ?? dayInYear(text, year)
  if (thisYear !== undefined && (thisYear <= today || isoDay(text) !== undefined)) return thisYear
  return dayInYear(text, year - 1) // ahead of us, or the 29th of a February that is none this year
}

/** Throws nothing for 31 February: it is no day. */
function checkedDay(year: number, month: number, day: number): number | undefined {
  const date = new Date(Date.UTC(year, month, day))
  return date.getUTCMonth() === month && date.getUTCDate() === day ? date.getTime() : undefined
}
