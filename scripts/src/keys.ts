import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { SettingsError } from '@guildhall/service/config'
import { readIfThere } from './home.ts'

const NAMES = ['SECRET_KEY', 'SECRETS_KEY', 'INTERNAL_KEY', 'POSTGRES_PASSWORD'] as const
export type Keys = Record<(typeof NAMES)[number], string>

const fileOf = (home: string, name: string) => join(home, 'keys', name.toLowerCase())

/** The keys that are there; none is made. */
export async function readKeys(home: string): Promise<Partial<Keys>> {
  const pairs = NAMES.map(async (name) => [name, (await readIfThere(fileOf(home, name)))?.trim()])
  return Object.fromEntries((await Promise.all(pairs)).filter(([, key]) => key))
}

/**
 * The keys of an installation, made once under `<home>/keys` and readable by its owner alone. `made` is
 * true the first time: whoever runs it should keep a copy, because sealed data does not open without them.
 */
export async function openKeys(
  home: string,
): Promise<{ keys: Keys; folder: string; made: boolean }> {
  const folder = join(home, 'keys')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  let made = false
  const pairs = NAMES.map(async (name) => {
    const file = fileOf(home, name)
    const found = await readIfThere(file)
    made ||= found === undefined
    return [name, found?.trim() ?? (await writeKey(file))]
  })
  const keys = Object.fromEntries(await Promise.all(pairs)) as Keys
  return { keys, folder, made }
}

/** Throws where another key is there than in a backup: what is sealed with that one would not open any more. */
export async function checkKeys(home: string, keys: Readonly<Partial<Keys>>) {
  const there = await readKeys(home)
  for (const [name, value] of Object.entries(keys)) {
    const found = there[name as keyof Keys]
    if (found === undefined || found === value) continue
    throw new SettingsError(
      `${fileOf(home, name)} holds another ${name} than the backup. Set GUILDHALL_HOME to a new folder, or restore without --with-keys`,
    )
  }
}

/** Puts keys of a backup where `openKeys` finds them. Throws as `checkKeys` does. */
export async function placeKeys(home: string, keys: Readonly<Partial<Keys>>) {
  await checkKeys(home, keys)
  const there = await readKeys(home)
  if (Object.keys(keys).length === 0) return
  await mkdir(join(home, 'keys'), { recursive: true, mode: 0o700 })
  for (const [name, value] of Object.entries(keys)) {
    if (!there[name as keyof Keys]) await writeKey(fileOf(home, name), value)
  }
}

/** Written aside and moved into place, so that a kill leaves a whole key or none. */
async function writeKey(file: string, value = randomBytes(32).toString('hex')) {
  const aside = `${file}.new`
  const handle = await open(aside, 'w', 0o600)
  await handle.writeFile(value)
  await handle.sync()
  await handle.close()
  await rename(aside, file)
  return value
}
