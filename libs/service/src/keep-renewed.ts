/**
 * Renews what is held for a time, every `everyMs`, until it is disposed of. `renew` says whether it is still ours; the signal
 * aborts where it is not. A renewal that fails is tried again at the next: until the time is over, it holds.
 */
export function keepRenewed(everyMs: number, renew: () => Promise<boolean>) {
  const lost = new AbortController()
  const once = async () => {
    if (!(await renew())) lost.abort()
  }
  const timer = setInterval(() => once().catch(() => undefined), everyMs)
  return { signal: lost.signal, [Symbol.dispose]: () => clearInterval(timer) }
}
