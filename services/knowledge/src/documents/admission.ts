import { AppError } from '@guildhall/service/errors'

/** Uploads that one process has in hand: each keeps its files, up to 25 MB, in memory. */
const MOST_IN_HAND = 12
/** So many of these may be of one org. */
const MOST_OF_ORG = 4
const RETRY_SECONDS = 10

/** Counts uploads from before their first byte to their end. What it answers is called once, at the end; throws where there are too many. */
export function createAdmission() {
  const inHand = new Map<number | undefined, number>()
  let all = 0

  return (orgId: number | undefined): (() => void) => {
    const count = inHand.get(orgId) ?? 0
    if (count >= MOST_OF_ORG) throw busy(`The org has ${count} uploads in hand`)
    if (all >= MOST_IN_HAND) throw busy(`Clubs upload ${all} times at this moment`)
    all += 1
    inHand.set(orgId, count + 1)
    return () => {
      all -= 1
      const left = (inHand.get(orgId) ?? 1) - 1
      if (left > 0) inHand.set(orgId, left)
      else inHand.delete(orgId)
    }
  }
}

const busy = (why: string) =>
  new AppError(
    'rate_limited',
    'document.busy',
    `${why}, and more are not taken at once: send this one again when one of them is done`,
    { retryAfter: RETRY_SECONDS },
  )
