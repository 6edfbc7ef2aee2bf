const SECOND_MS = 1_000

/** Counts requests by the second: false for one that is too many. */
export function createLimit() {
  let second = 0
  let asked = 0
  return (perSecond: number | undefined): boolean => {
    const now = Math.floor(performance.now() / SECOND_MS)
    if (now !== second) [second, asked] = [now, 0]
    asked += 1
    return perSecond === undefined || asked <= perSecond
  }
}
