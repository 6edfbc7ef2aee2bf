import { AppError } from '@guildhall/service/errors'

/** Calls of tools that one token may have under way in a process; an agent that works alone has one or two. */
export const MOST_AT_ONCE = 8
const AGAIN_SECONDS = 1

/** Keeps one token from taking everybody's turn: `enter` throws `tool.too_many`, or answers how to leave again. */
export function createTurns() {
  const underWay = new Map<string, number>()
  return {
    enter(token_id: string): () => void {
      const others = underWay.get(token_id) ?? 0
      if (others >= MOST_AT_ONCE) throw tooMany()
      underWay.set(token_id, others + 1)
      return () => {
        const left = (underWay.get(token_id) ?? 1) - 1
        if (left > 0) underWay.set(token_id, left)
        else underWay.delete(token_id)
      }
    },
  }
}

const tooMany = () =>
  new AppError(
    'rate_limited',
    'tool.too_many',
    `This token has ${MOST_AT_ONCE} calls of tools under way; wait for one of them, and then call again`,
    { retryAfter: AGAIN_SECONDS },
  )
