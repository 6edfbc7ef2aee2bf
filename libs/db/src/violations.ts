/** SQLSTATE codes of Postgres (appendix A of its manual). */
const UNIQUE = '23505'
const EXCLUSION = '23P01'
const FOREIGN_KEY = '23503'
const CHECK = '23514'

/** True if `error` is Postgres refusing a row by this constraint. */
export function violates(error: unknown, constraint: string): boolean {
  const { code, constraint: name } = error as { code?: string; constraint?: string }
  return name === constraint && [UNIQUE, EXCLUSION, FOREIGN_KEY, CHECK].includes(code ?? '')
}
