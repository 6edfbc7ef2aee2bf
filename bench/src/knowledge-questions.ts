import { ORGS, orgOf, PASSAGES_OF_SOURCE } from './knowledge-data.ts'

/** What is asked: something near a passage of the org's own. */
export interface Asked {
  n: number
  org: number
  passage: number
}

/** Questions of all orgs in turn, each about another passage of its org. */
export function questions(passages: number, count: number): Asked[] {
  const sources = passages / PASSAGES_OF_SOURCE
  return Array.from({ length: count }, (_, n) => {
    const ofOrg = Math.floor(sources / ORGS)
    const source = (n % ORGS) + ORGS * ((n * 7919) % ofOrg)
    const passage = source * PASSAGES_OF_SOURCE + ((n * 31) % PASSAGES_OF_SOURCE)
    return { n, org: orgOf(source), passage }
  })
}
