import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SettingsError } from '@guildhall/service/config'
import type { z } from 'zod'
import type { Config } from '../config.ts'
import { faultsOf } from './check.ts'
import { PackFile } from './format.ts'
import { type Functions, type LoadedPack, loaded, type PackSetting } from './loaded.ts'

const SHIPPED = new URL('../../packs', import.meta.url).pathname

/** Where packs lie: those that ship, and the operator's own. */
export const packFolders = ({ KNOWLEDGE_PACKS_DIR: own }: Pick<Config, 'KNOWLEDGE_PACKS_DIR'>) =>
  own === undefined ? [SHIPPED] : [SHIPPED, resolve(own)]

/** Reads every folder of these as a pack. Throws a SettingsError that lists every fault with its file. */
export async function loadPacks(
  dirs: readonly string[],
  given: readonly PackSetting[],
): Promise<LoadedPack[]> {
  const faults: string[] = []
  const packs: LoadedPack[] = []
  for (const dir of dirs) {
    for (const folder of await foldersOf(dir, faults)) {
      const pack = await loadPack(join(dir, folder), folder, { given, faults })
      if (packs.some(({ name }) => name === pack?.name))
        faults.push(`${join(dir, folder)}: there is already a pack ${folder}`)
      else if (pack) packs.push(pack)
    }
  }
  faults.push(...sharedFeeds(packs))
  if (faults.length === 0) faults.push(...strangers(packs, given))
  if (faults.length > 0) throw new SettingsError(`Packs cannot be used:\n  ${faults.join('\n  ')}`)
  return packs.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** An org knows a feed by its key alone. */
function sharedFeeds(packs: readonly LoadedPack[]): string[] {
  const owners = new Map<string, string>()
  return packs.flatMap(({ name, feeds }) =>
    feeds.flatMap(({ key }) => {
      const owner = owners.get(key) ?? name
      owners.set(key, owner)
      if (owner === name) return []
      return [
        `${name}/pack.json: feeds.${key}: the pack ${owner} has a feed with this key already; choose another`,
      ]
    }),
  )
}

async function foldersOf(dir: string, faults: string[]): Promise<string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true })
    return entries
      .filter((one) => one.isDirectory() || one.isSymbolicLink())
      .flatMap(({ name }) => seen(name))
  } catch (error) {
    faults.push(`${dir}: the folder of packs cannot be read (${(error as Error).message})`)
    return []
  }
}
const seen = (name: string) => (name.startsWith('.') ? [] : [name])

interface Loading {
  given: readonly PackSetting[]
  faults: string[]
}

/** Nothing where it has faults; these are added to the others. */
async function loadPack(
  path: string,
  folder: string,
  { given, faults }: Loading,
): Promise<LoadedPack | undefined> {
  const before = faults.length
  const place = join(path, 'pack.json')
  const file = await readPackFile(place, faults)
  if (!file) return undefined
  if (file.name !== folder)
    faults.push(`${place}: name: must be that of its folder, ${folder}, and is ${file.name}`)
  faults.push(...faultsOf(file).map((fault) => `${place}: ${fault}`))
  const answers = file.queries.flatMap(({ answer }) => answer ?? [])
  const functions = answers.length > 0 ? await readFunctions(join(path, 'queries.ts'), faults) : {}
  for (const name of functions ? answers : []) {
    if (typeof functions?.[name] === 'function') continue
    faults.push(`${join(path, 'queries.ts')}: exports no function ${name}, which pack.json names`)
  }
  return faults.length === before ? loaded(file, functions ?? {}, given) : undefined
}

async function readPackFile(place: string, faults: string[]): Promise<PackFile | undefined> {
  let json: unknown
  try {
    json = JSON.parse(await readFile(place, 'utf8'))
  } catch (error) {
    const missing = (error as { code?: string }).code === 'ENOENT'
    faults.push(
      missing
        ? `${place}: is missing; each folder here is a pack and needs one`
        : `${place}: is not JSON (${(error as Error).message})`,
    )
    return undefined
  }
  const parsed = PackFile.safeParse(json)
  if (parsed.success) return parsed.data
  for (const { path, message } of parsed.error.issues)
    faults.push(`${place}: ${named(json, path) || 'the file'}: ${message}`)
  return undefined
}

/** `queries.web.url` instead of `queries.3.url`, where the part has a key. */
function named(json: unknown, path: z.core.$ZodIssue['path']): string {
  let at = json
  return path
    .map((step) => {
      at = (at as Record<PropertyKey, unknown> | undefined)?.[step]
      const { key, name } = (at ?? {}) as { key?: unknown; name?: unknown }
      const own = key ?? name
      return typeof step === 'number' && typeof own === 'string' ? own : String(step)
    })
    .join('.')
}

async function readFunctions(place: string, faults: string[]): Promise<Functions | undefined> {
  try {
    return (await import(pathToFileURL(place).href)) as Functions
  } catch (error) {
    faults.push(`${place}: cannot be loaded (${(error as Error).message})`)
    return undefined
  }
}

/** Settings given to packs or by names that there are not: they are misspelled. */
function strangers(packs: readonly LoadedPack[], given: readonly PackSetting[]): string[] {
  return given.flatMap(({ pack, name }) => {
    const known = packs.find((one) => one.name === pack)
    if (!known)
      return [
        `PACK_SETTINGS: there is no pack ${pack}; there are ${packs.map((one) => one.name).join(', ')}`,
      ]
    const names = [...Object.keys(known.settings), ...known.unset]
    if (names.includes(name)) return []
    return [`PACK_SETTINGS: ${pack} has no setting ${name}; it has ${names.join(', ') || 'none'}`]
  })
}
