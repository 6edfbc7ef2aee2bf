import { settingOf, withSetting } from './address.ts'
import type { Answer } from './answer.ts'
import type { PackFile } from './format.ts'

type FileQuery = PackFile['queries'][number]
/** `unset` is the setting that its address lacks. */
export type LiveQuery = Omit<FileQuery, 'url' | 'answer'> &
  ({ url: string } | { answer: Answer } | { unset: string })

/** A pack as it is used: settings are in its addresses, and pages whose setting has no value left out. */
export interface LoadedPack extends Omit<PackFile, 'settings' | 'queries' | 'lms_url'> {
  lms_url: string | null
  queries: LiveQuery[]
  settings: Readonly<Record<string, string>>
  unset: string[]
}

/** One setting of one pack, as PACK_SETTINGS has it. */
export interface PackSetting {
  pack: string
  name: string
  value: string
}

/** What a module exports. */
export type Functions = Readonly<Record<string, unknown>>

/** The pack of a file that has no faults, with what its queries.ts exports and the settings that were given. */
export function loaded(
  file: PackFile,
  functions: Functions,
  given: readonly PackSetting[],
): LoadedPack {
  const settings = new Map<string, string>()
  for (const [name, { default: value }] of Object.entries(file.settings)) {
    const own = given.find((one) => one.pack === file.name && one.name === name)?.value ?? value
    if (own !== undefined) settings.set(name, own)
  }
  const { lms_url } = file
  return {
    ...file,
    lms_url: (lms_url !== undefined && withSetting(lms_url, settings)) || null,
    settings: Object.fromEntries(settings),
    unset: Object.keys(file.settings).filter((name) => !settings.has(name)),
    pages: file.pages.flatMap((page) => {
      const url = withSetting(page.url, settings)
      return url === undefined ? [] : [{ ...page, url }]
    }),
    queries: file.queries.map(({ url, answer, ...query }) => {
      if (answer !== undefined) return { ...query, answer: functions[answer] as Answer }
      const address = url ?? ''
      const whole = withSetting(address, settings)
      if (whole === undefined) return { ...query, unset: settingOf(address) ?? '' }
      return { ...query, url: whole }
    }),
  }
}
