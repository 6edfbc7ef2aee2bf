import { services } from '@guildhall/contracts/names'
import { Settings as GatewaySettings } from '@guildhall/gateway/config'
import { type Env, givenFor } from '@guildhall/service/config'
import { parts } from '../services.ts'

/** The settings of every process, by its name. */
export const schemas = {
  gateway: GatewaySettings,
  ...Object.fromEntries(services.map((service) => [service, parts[service].Settings])),
}

/** Read by npm start and the operator alone, or by tests. */
const OWN = ['GUILDHALL_HOME', 'GUILDHALL_TEST_POSTGRES_URL', 'NATS_SERVER_BIN']
const known = new Set([
  ...OWN,
  ...Object.values(schemas).flatMap(({ shape }) => Object.keys(shape)),
])
/** Names that begin so are meant for nobody else; `MCP_` or `AUTH_` may be another program's. */
const PREFIXES = [
  'GUILDHALL_',
  'RATE_',
  'IDP_',
  'PODHOST_',
  'CODEHOST_',
  'TRACKER_',
  'KNOWLEDGE_',
  'COMPUTE_',
]
/** A slip of the pen: so many letters too few, too many or other ones. */
const MOST_SLIPS = 2
const LEAST_LETTERS = 8

/** What each setting that nobody reads may have been meant as. */
export function unknownSettings(env: Env): string[] {
  return given(env).flatMap((name) => {
    const plain = name.replace(/_FILE$/, '')
    if (known.has(name) || known.has(plain)) return []
    const near = [...known].find((one) => slips(plain, one) <= MOST_SLIPS)
    const like = plain.length >= LEAST_LETTERS && near
    if (like) return [`${name} is read by nobody: is ${near} meant?`]
    return PREFIXES.some((prefix) => name.startsWith(prefix))
      ? [`${name} is read by nobody: see .env.example`]
      : []
  })
}

const given = (env: Env) => Object.keys(env).filter((name) => env[name])

/** Levenshtein's distance. */
function slips(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > MOST_SLIPS) return MOST_SLIPS + 1
  let row = Array.from({ length: other.length + 1 }, (_, n) => n)
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1]
    for (const [j, theirs] of [...other].entries()) {
      const swap = (row[j] ?? 0) + (letter === theirs ? 0 : 1)
      next.push(Math.min(swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** Settings that count only together. */
const TOGETHER = [
  ['BOT_TOKEN', 'CLIENT_ID', 'CLIENT_SECRET', 'REDIRECT_URI'],
  ['IDP_AUTHORIZED_PARTIES', 'IDP_SECRET_KEY'],
] as const
/** A key that is sent nowhere without its address. */
const NEEDS = {
  RENDERER_API_KEY: 'RENDERER_URL',
  EMBEDDINGS_API_KEY: 'EMBEDDINGS_URL',
} as const

/** Each pair of settings that cannot both be meant. */
export function contradictions(env: Env): string[] {
  const has = (name: string) => Boolean(givenFor(name, env))
  const twice = given(env)
    .filter((name) => known.has(name) && env[`${name}_FILE`])
    .map((name) => `${name} and ${name}_FILE are both set: unset one`)
  const halves = TOGETHER.flatMap((names) => {
    const missing = names.filter((name) => !has(name))
    if (missing.length === 0 || missing.length === names.length) return []
    const there = names.filter(has).join(', ')
    return [`${there} without ${missing.join(', ')}: set all of them or none`]
  })
  const keys = Object.entries(NEEDS)
    .filter(([key, url]) => has(key) && !has(url))
    .map(([key, url]) => `${key} without ${url}: nobody is sent it`)
  return [...twice, ...halves, ...keys, ...samePorts(env)]
}

/** Processes of one machine that would listen on one port; 0 takes a free one. */
function samePorts(env: Env): string[] {
  const names = ['PORT', 'ADMIN_PORT', ...services.map((one) => `${one.toUpperCase()}_PORT`)]
  const set = names.filter((name) => Number(env[name]) > 0)
  return set.flatMap((name, n) => {
    const other = set.slice(n + 1).find((one) => Number(env[one]) === Number(env[name]))
    return other ? [`${name} and ${other} are the same port: give each its own`] : []
  })
}
