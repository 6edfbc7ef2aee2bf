import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { services } from '@guildhall/contracts/names'
import { checkRole } from '@guildhall/db/provision'
import { refill, refuseFilled } from '@guildhall/db/refill'
import { withClient } from '@guildhall/db/shapes'
import { type Env, SettingsError } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { homeOf, type Mode, markHome, modeOf } from '../home.ts'
import { checkKeys, type Keys, openKeys, placeKeys } from '../keys.ts'
import {
  checkOwnUrls,
  ENTRIES,
  type Head,
  type KeyFlags,
  keyIds,
  keysOf,
  passphraseOf,
  rowsByService,
} from './backup.ts'
import { type Checked, readChecked } from './checked-backup.ts'
import {
  hasDatabase,
  operatorSettings,
  type Said,
  settingsSoFar,
  table,
  UsageError,
  withFiles,
  withServer,
} from './context.ts'
import { migrateEach, ownUrlOf } from './migrations.ts'
import { fillFrom } from './restored-rows.ts'
import { openSealedKeys } from './sealed-keys.ts'

/** Fills an empty deployment with a backup of the same revision: everything or nothing. */
export async function restore(env: Env, file: string | undefined, flags: KeyFlags): Promise<Said> {
  if (!file) throw new UsageError('Name the backup: restore <file>')
  const passphrase = await passphraseOf(flags)
  const checked = await readChecked(file)
  const home = homeOf(env)
  await checkMode(home, checked.head)
  const keys = passphrase === undefined ? {} : await keysOfBackup(env, home, checked, passphrase)
  await checkEmpty(env, keys)
  // nothing was changed so far
  await settleKeys(env, home, keys)
  const warnings = keyWarnings(checked.head, await keysOf(env))
  const { mode } = checked.head
  if (mode) await markHome(home, mode as Mode)
  await withServer(await operatorSettings(env), async (url, internalKey) => {
    await migrateEach({ url, internalKey, env })
    const { sequences } = checked.head
    await refill({ url, schemas: services, sequences }, (fillOf, query) =>
      fillFrom(file, checked, fillOf, query),
    )
  })
  const { taken_at } = checked.head
  const said = [`${file} is restored: the data of ${taken_at}`, ...warnings].join('\n')
  const json = { file, taken_at, with_keys: passphrase !== undefined, rows: checked.rows, warnings }
  return { text: `${table(rowsByService(checked.rows))}\n${said}`, json }
}

async function checkMode(home: string, { mode }: Head) {
  const marked = await modeOf(home)
  if (!mode || !marked || marked === mode) return
  throw new SettingsError(
    `The backup holds ${mode} data, but ${home} is marked ${marked}. Set GUILDHALL_HOME to a new folder`,
  )
}

/** Throws unless the database answers, is empty, and its server's roles are nobody else's. */
async function checkEmpty(env: Env, keys: Partial<Keys>) {
  const settings = { ...(await settingsSoFar(env)), ...keys }
  if (!hasDatabase(settings)) return
  // a key that is made afterwards is as strange to the roles as this one
  const INTERNAL_KEY = settings.INTERNAL_KEY ?? randomBytes(32).toString('hex')
  await withServer({ ...settings, INTERNAL_KEY }, async (url) => {
    await checkOwnUrls(url, env)
    await withClient(url, (client) => refuseFilled(client, services))
    for (const service of services)
      if (!ownUrlOf(service, env)) await checkRole(url, service, INTERNAL_KEY)
  })
}

/** Keys for the data folder: the backup's, and made for what is missing. None where the environment brings what is needed. */
async function settleKeys(env: Env, home: string, keys: Partial<Keys>) {
  await placeKeys(home, keys)
  const { INTERNAL_KEY, DATABASE_URL } = withFiles(env)
  if (!(INTERNAL_KEY && DATABASE_URL) || existsSync(join(home, 'keys'))) await openKeys(home)
}

/** The keys of the backup, for a data folder that has none and an environment that says nothing else. */
async function keysOfBackup(env: Env, home: string, { keys }: Checked, passphrase: string) {
  if (!keys) {
    const message = `The backup has no keys (entry ${ENTRIES.keys}): restore without --with-keys and bring the keys yourself`
    throw new AppError('invalid', 'backup.no_keys', message)
  }
  const opened = await openSealedKeys(keys, passphrase)
  const set = withFiles(env)
  const other = Object.entries(opened).find(([name, key]) => set[name] && set[name] !== key)
  if (other)
    throw new SettingsError(
      `${other[0]} is set and another one than in the backup. Unset it, or restore without --with-keys`,
    )
  await checkKeys(home, opened as Partial<Keys>)
  return opened as Partial<Keys>
}

/** What the restored data cannot do with the keys that are set now. */
function keyWarnings({ key_ids }: Head, keys: Record<string, string>): string[] {
  const now = keyIds(keys)
  const lost: Record<string, string> = {
    SECRET_KEY: 'people sign in again',
    SECRETS_KEY: 'sealed secrets, SSH keys and memories open only with the old key in the list',
  }
  return Object.entries(lost).flatMap(([name, what]) =>
    key_ids[name] && key_ids[name] !== now[name]
      ? [`${name} is another one than at the backup: ${what}`]
      : [],
  )
}
