const HOUR_MS = 3_600_000

/** Messages of one process in any hour (interface.md, Limits). */
export const MESSAGES_PER_HOUR = 30

/** Lets at most `most` through in any hour, not only from one full hour to the next. */
export function hourly(now: () => Date, most = MESSAGES_PER_HOUR) {
  let taken: number[] = []
  function room(): boolean {
    taken = taken.filter((one) => one > now().getTime() - HOUR_MS)
    return taken.length < most
  }
  return {
    room,
    /** True if there is room for one more, which is then taken. */
    take(): boolean {
      const free = room()
      if (free) taken.push(now().getTime())
      return free
    },
  }
}
export type Budget = ReturnType<typeof hourly>
