import { AppError, type Detail } from '@guildhall/service/errors'
import type { Asked } from './answer.ts'
import type { Param } from './format.ts'
import type { LiveQuery, LoadedPack } from './loaded.ts'

const MOST_VALUE_CHARS = 200
const MOST_VALUES = 50

export function packNamed(packs: readonly LoadedPack[], name: string): LoadedPack {
  const pack = packs.find((one) => one.name === name)
  if (pack) return pack
  throw new AppError(
    'not_found',
    'pack.not_found',
    `There is no pack ${name}. There are ${packs.map((one) => one.name).join(', ')}.`,
  )
}

export function queryNamed({ name, queries }: LoadedPack, key: string): LiveQuery {
  const query = queries.find((one) => one.key === key)
  if (query) return query
  const others = queries.map((one) => one.key).join(', ')
  throw new AppError(
    'not_found',
    'pack.query_not_found',
    `The pack ${name} has no query ${key}. ${others ? `It has ${others}.` : 'It has none.'}`,
  )
}

/**
 * The parameters of a question, those not given left out. Throws AppError('unprocessable', 'pack.bad_parameter') that says of each
 * bad one what is accepted.
 */
export function checkParams(params: readonly Param[], given: Record<string, unknown>): Asked {
  const names = params.map(({ name }) => name)
  const unknown = Object.keys(given).filter((name) => !names.includes(name))
  const details = unknown.map((name) => fault(name, `is no parameter; ${accepted(names)}`))
  const asked: Record<string, string | string[]> = {}
  for (const param of params) {
    const { name } = param
    const value = givenFor(param, Object.hasOwn(given, name) ? given[name] : undefined)
    if (value === undefined) details.push(fault(name, wanted(param)))
    else if (value.length > 0) asked[name] = value
  }
  if (details.length === 0) return asked
  const said = details.map(({ path, message }) => `${path.replace('/body/params/', '')} ${message}`)
  throw new AppError('unprocessable', 'pack.bad_parameter', said.join('; '), { details })
}

const fault = (name: string, message: string): Detail => ({ path: `/body/params/${name}`, message })
const accepted = (names: readonly string[]) =>
  names.length > 0 ? `accepted are ${names.join(', ')}` : 'the query has none'

/** Nothing for what is not accepted; empty where none was given and none is needed. */
function givenFor(param: Param, given: unknown): string | string[] | undefined {
  const list = [given ?? []].flat(1)
  const values = list.flatMap((one) => textOf(param, one) ?? [])
  if (values.length < list.length || values.length > MOST_VALUES) return undefined
  if (values.length === 0) return param.required ? undefined : ''
  if (param.many) return [...new Set(values)]
  return values.length === 1 && !Array.isArray(given) ? values[0] : undefined
}

/** Choices are found in any case. A number is taken for its digits. */
function textOf({ choices }: Param, given: unknown): string | undefined {
  if (typeof given !== 'string' && typeof given !== 'number') return undefined
  const text = String(given).trim()
  if (choices) return choices.find((one) => one.toLowerCase() === text.toLowerCase())
  const dots = text === '.' || text === '..' // a path would lead elsewhere
  return text === '' || text.length > MOST_VALUE_CHARS || dots ? undefined : text
}

function wanted({ required, choices, many, example }: Param): string {
  const one = choices
    ? `one of ${choices.join(', ')}`
    : `a text of 1 to ${MOST_VALUE_CHARS} characters${example === null ? '' : ` such as ${example}`}`
  return `${required ? 'is required: ' : 'accepts '}${many ? `a list, each ${one}` : one}`
}

/** At most so many characters (UTF-16 units), cut at the end of a line; within one only where the first is longer. */
export function cutAtLine(text: string, most: number): string {
  if (text.length <= most) return text
  const end = text.lastIndexOf('\n', most)
  if (end > 0) return text.slice(0, end).trimEnd()
  const cut = text.slice(0, most)
  return cut.isWellFormed() ? cut : cut.slice(0, -1) // not through a surrogate pair
}

/** interface.md, Pack rules, 5. */
export const noSearch = (pack: string) =>
  new AppError(
    'unavailable',
    'pack.search_unset',
    `Queries of the pack ${pack} that search the web need a search service: an officer connects one (integration search), or the operator sets SEARCH_SERVICE_URL.`,
  )

export const unsetSetting = (pack: string, setting: string) =>
  new AppError(
    'unavailable',
    'pack.unset',
    `This query needs an address that is not set: the operator adds ${pack}.${setting}=<url> to PACK_SETTINGS.`,
  )

const MOST_TITLE_CHARS = 500
/** Of the hash of the parameters, in hex digits. */
const HASH_CHARS = 16

/** How the keys of a pack's pages begin. */
export const pagePrefix = (pack: string) => `${pack}/`
/** How the keys of what its queries answered begin. */
export const livePrefix = (pack: string) => `${pack}-live/`

export const liveKey = (pack: string, query: string, hash: string): string =>
  `${livePrefix(pack)}${query}-${hash.slice(0, HASH_CHARS)}`

/** The title of the page, and what was asked for, so that two answers of one query are told apart. */
export function titleOfLive(title: string, asked: Asked): string {
  const said = Object.entries(asked).map(([name, value]) => `${name}: ${[value].flat().join(', ')}`)
  const whole = said.length > 0 ? `${title} (${said.join('; ')})` : title
  return whole.replace(/\s+/g, ' ').trim().slice(0, MOST_TITLE_CHARS).toWellFormed()
}
