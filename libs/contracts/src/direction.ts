/** The least and the largest sum of squares that 32 bits hold exactly enough: engines compute with these. */
const LEAST_SQUARES = 2 ** -126
const MOST_SQUARES = (2 - 2 ** -23) * 2 ** 127

/** Whether a vector can be compared by its angle: one of zeros, or of numbers too small or too large for 32 bits, cannot. */
export function hasDirection(vector: ArrayLike<number>): boolean {
  let squares = 0
  for (let n = 0; n < vector.length; n++) squares += (vector[n] ?? 0) ** 2
  return squares >= LEAST_SQUARES && squares <= MOST_SQUARES
}

/** What is said of a vector that has none. */
export const NO_DIRECTION =
  'a vector of zeros, or with numbers too small or too large for 32 bits, is near to nothing'
