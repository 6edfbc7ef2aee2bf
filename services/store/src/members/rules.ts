import { violates } from '@guildhall/db/violations'
import { AppError } from '@guildhall/service/errors'

/** What a member is called where they have given no name: never a part of their email, which is a student id at many schools. */
const NAMELESS = 'Member'
export const shownName = (name: string): string => name || NAMELESS

export const memberNotFound = () =>
  new AppError(
    'not_found',
    'member.not_found',
    'This club knows no such member; add them by their email, or check how it is written',
  )

const taken = (what: string, cause: unknown) =>
  new AppError(
    'conflict',
    `member.${what}_taken`,
    `Another member of this club has this ${what}; take another, or change theirs first`,
    { cause },
  )

/** Says which name of a member is somebody else's already. */
export function refuseTaken(error: unknown): never {
  for (const what of ['email', 'username'])
    if (violates(error, `memberships_${what}`)) throw taken(what, error)
  throw error
}
