import type { TokenLimits } from './tokens.ts'

/**
 * True if a machine token with these limits may touch `name` of a connected service. A missing entry means no
 * limit, an empty list nothing (decisions.md § 1).
 */
export function withinLimits(
  limits: TokenLimits,
  service: string,
  what: 'repos' | 'tools',
  name: string,
): boolean {
  const globs = Object.hasOwn(limits, service) ? limits[service]?.[what] : undefined
  return globs === undefined || globs.some((glob) => matches(glob, name))
}

/**
 * True if the glob fits the whole name, case-sensitively: `*` is any run of characters, slashes too, `?` is
 * one. Takes at most glob times name steps, which a regular expression would not promise.
 */
function matches(glob: string, name: string): boolean {
  let [inGlob, inName] = [0, 0]
  let star = -1
  let retry = 0
  while (inName < name.length) {
    if (glob[inGlob] === '*') {
      star = inGlob++
      retry = inName
    } else if (glob[inGlob] === '?' || glob[inGlob] === name[inName]) {
      inGlob++
      inName++
    } else if (star >= 0) {
      inGlob = star + 1 // the last star takes one character more
      inName = ++retry
    } else return false
  }
  return /^\**$/.test(glob.slice(inGlob))
}
