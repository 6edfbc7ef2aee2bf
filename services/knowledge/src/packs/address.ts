/** Addresses of packs: `{library_url}/hours?date={date}`. A setting stands only at the beginning, so nobody who asks chooses the host. */

export type Values = Readonly<Record<string, string | readonly string[]>>

const PLACE = /\{([^{}]*)\}/g

/** The names in braces, in their order. */
export const namesIn = (address: string): string[] =>
  [...address.matchAll(PLACE)].map(([, name]) => name ?? '')

/** The setting that an address begins with, if any. */
export const settingOf = (address: string): string | undefined => /^\{([^{}]*)\}/.exec(address)?.[1]

/** The address with its setting in place; nothing where that has no value. */
export function withSetting(
  address: string,
  settings: ReadonlyMap<string, string>,
): string | undefined {
  const name = settingOf(address)
  if (name === undefined) return address
  const value = settings.get(name)
  if (value === undefined) return undefined
  const rest = address.slice(name.length + 2)
  if (rest.startsWith('?') && value.includes('?')) return `${value}&${rest.slice(1)}`
  return (rest.startsWith('/') ? value.replace(/\/+$/, '') : value) + rest
}

/** True if scheme and host stand there in full and hold no credentials. */
export function hasFixedHost(address: string): boolean {
  if (!/^https?:\/\/[^/?#{}\\]+([/?#]|$)/.test(address)) return false
  const url = URL.parse(address.replace(PLACE, 'x'))
  return url !== null && !url.username && !url.password
}

/** Names that stand in the path or the fragment, where a value cannot be missing or be a list. */
export const namesInPath = (address: string): string[] => {
  const [path = '', rest = ''] = parted(address)
  const fragment = rest.includes('#') ? rest.slice(rest.indexOf('#')) : ''
  return namesIn(path + fragment)
}

/** The address for these values, each escaped. In the query a pair without a value is left out, and one with a list repeated. */
export function filled(address: string, values: Values): string {
  const [path, query] = parted(address)
  const fill = (text: string, of: Values) =>
    text.replace(PLACE, (_, name: string) => encodeURIComponent(String(of[name] ?? '')))
  if (query === undefined) return fill(path, values)
  const pairs = query.split('&').flatMap((pair) => {
    const names = namesIn(pair)
    if (names.some((name) => values[name] === undefined)) return []
    const list = names.find((name) => Array.isArray(values[name]))
    if (list === undefined) return [fill(pair, values)]
    return [values[list] ?? []].flat().map((one) => fill(pair, { ...values, [list]: one }))
  })
  return pairs.length > 0 ? `${fill(path, values)}?${pairs.join('&')}` : fill(path, values)
}

/** What comes before the first question mark, and what after it. */
function parted(address: string): [string, string?] {
  const at = address.indexOf('?')
  return at < 0 ? [address] : [address.slice(0, at), address.slice(at + 1)]
}
