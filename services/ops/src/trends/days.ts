import type { DayCount } from '@guildhall/contracts/fields'

const DAY_MS = 86_400_000

/** The last `days` days of UTC up to that of `now`, as YYYY-MM-DD. */
export function daysUpTo(now: Date, days: number): string[] {
  return Array.from({ length: days }, (_, n) => {
    const day = new Date(now.getTime() - (days - 1 - n) * DAY_MS)
    return day.toISOString().slice(0, 10)
  })
}

/** One value for each of `dates`: the sum of what was told of it, with nothing for those left out. */
export function filled(dates: readonly string[], told: readonly DayCount[]): DayCount[] {
  const days = new Map(dates.map((date) => [date, { date, value: 0, failed: 0 }]))
  for (const { date, value, failed } of told) {
    const day = days.get(date)
    if (!day) continue
    day.value += value
    day.failed += failed
  }
  return [...days.values()]
}

/** Without what adding binary fractions leaves behind the second decimal. */
export const sumOf = (values: readonly number[]) =>
  Math.round(values.reduce((sum, value) => sum + value, 0) * 100) / 100
