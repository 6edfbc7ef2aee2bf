import { feedConfigs } from '@guildhall/contracts/alerts'
import { hasFixedHost, namesIn, namesInPath, settingOf } from './address.ts'
import type { PackFile, Param } from './format.ts'

type Query = PackFile['queries'][number]
type Feed = PackFile['feeds'][number]

/** What the parts of a pack have against each other, each fault with its place: `queries.web.url: …`. */
export function faultsOf(file: PackFile): string[] {
  const settings = Object.keys(file.settings)
  const addresses = [
    ...(file.lms_url === undefined ? [] : [['lms_url', file.lms_url] as const]),
    ...file.pages.map(({ key, url }) => [`pages.${key}.url`, url] as const),
  ]
  return [
    ...twice('pages', file.pages),
    ...twice('queries', file.queries),
    ...twice('feeds', file.feeds),
    ...addresses.flatMap(([place, url]) => addressFaults(place, url, settings, [])),
    ...file.queries.flatMap((query) => queryFaults(query, settings)),
    ...file.feeds.flatMap(feedFaults),
  ]
}

function twice(place: string, parts: readonly { key: string }[]): string[] {
  const keys = parts.map(({ key }) => key)
  const again = keys.filter((key, n) => keys.indexOf(key) < n)
  return [...new Set(again)].map((key) => `${place}: the key ${key} stands twice`)
}

function queryFaults({ key, url, answer, params }: Query, settings: string[]): string[] {
  const place = `queries.${key}`
  const names = params.map(({ name }) => name)
  const repeated = names.filter((name, n) => names.indexOf(name) < n || settings.includes(name))
  return [
    ...repeated.map((name) => `${place}.params: the name ${name} stands twice, or is a setting's`),
    ...params.flatMap((param) => exampleFaults(`${place}.params.${param.name}`, param)),
    ...((url === undefined) === (answer === undefined)
      ? [`${place}: give either url or answer`]
      : []),
    ...(url === undefined ? [] : addressFaults(`${place}.url`, url, settings, params)),
  ]
}

function exampleFaults(place: string, { example, choices }: Param): string[] {
  if (example === null || choices === null || choices.includes(example)) return []
  return [`${place}.example: is none of its choices`]
}

/** A preset that alerts would refuse is told here, where it is written. */
function feedFaults({ key, kind, config }: Feed): string[] {
  const { error } = feedConfigs[kind].safeParse(config)
  return (error?.issues ?? []).map(
    ({ path, message }) => `${['feeds', key, 'config', ...path].map(String).join('.')}: ${message}`,
  )
}

function addressFaults(
  place: string,
  address: string,
  settings: string[],
  params: readonly Param[],
): string[] {
  const setting = settingOf(address)
  const known = setting !== undefined && settings.includes(setting)
  const rest = known ? address.slice(setting.length + 2) : address
  const whole = known && /^([/?]|$)/.test(rest) ? `https://host.example${rest}` : address
  if (!hasFixedHost(whole))
    return [
      `${place}: ${address} must begin with http:// or https:// and a host, or with a setting in braces that / or ? may follow`,
    ]
  const inPath = namesInPath(rest)
  return namesIn(rest).flatMap((name) => {
    const param = params.find((one) => one.name === name)
    if (!param) return [`${place}: {${name}} is no parameter; a setting stands at the beginning`]
    const usable = !inPath.includes(name) || (param.required && !param.many)
    return usable ? [] : [`${place}: {${name}} stands in the path, so it must be required and one`]
  })
}
