const HOUR_MS = 3_600_000

/** Messages of one process in any hour (interface.md, Limits). */
export const MESSAGES_PER_HOUR = 30
/** Of these, about errors of orgs; the rest is kept free for errors of the server. */
const ABOUT_ORGS = 20
/** Of these, about errors of one org, in its channel and the deployment's together. */
export const ABOUT_ONE_ORG = 10

/**
 * Lets so many messages through in any hour, not only from one full hour to the next. Each is about errors of one org, or
 * of none: the server's.
 */
export function hourly(now: () => Date) {
  let taken: { at: number; org: number | null }[] = []

  function room(org: number | null): boolean {
    taken = taken.filter(({ at }) => at > now().getTime() - HOUR_MS)
    if (taken.length >= MESSAGES_PER_HOUR) return false
    if (org === null) return true
    const aboutOrgs = taken.filter((one) => one.org !== null)
    const aboutThis = aboutOrgs.filter((one) => one.org === org)
    return aboutOrgs.length < ABOUT_ORGS && aboutThis.length < ABOUT_ONE_ORG
  }

  return {
    /** Takes room for one message, if there is any. The function it returns gives it back: the message was not delivered. */
    take(org: number | null): (() => void) | undefined {
      if (!room(org)) return undefined
      const one = { at: now().getTime(), org }
      taken.push(one)
      return () => {
        taken = taken.filter((other) => other !== one)
      }
    },
    room,
  }
}
export type Budget = ReturnType<typeof hourly>
