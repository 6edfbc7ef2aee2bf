import { hkdfSync } from 'node:crypto'
import { services } from '@guildhall/contracts/names'
import { checkSameDatabase, type TableShape, withClient } from '@guildhall/db/shapes'
import { type RowsOf, readSnapshot, type Snapshot } from '@guildhall/db/snapshot'
import type { Env } from '@guildhall/service/config'
import { homeOf, modeOf } from '../home.ts'
import { type AddEntry, writeArchive } from './archive.ts'
import { operatorSettings, type Said, table, UsageError, withDatabase } from './context.ts'
import { ownUrlOf } from './migrations.ts'
import { KEY_NAMES, proveKeys } from './proved-keys.ts'
import { readPassphrase, sealKeys } from './sealed-keys.ts'

/** Changes when an older build could not read the file any more. */
export const FORMAT = 'guildhall backup 1'
/** The entries of the file beside the tables'. */
export const ENTRIES = { head: 'backup.json', keys: 'keys.json', counts: 'rows.json' } as const
/** A table's rows are cut into entries of about so many bytes. */
const CHUNK_BYTES = 4 * 1024 * 1024

/** The first entry: all that a restore must know before the rows. */
export interface Head extends Snapshot {
  format: string
  /** What the data folder is marked as. */
  mode: string | null
  /** Tells whether a key is the same one, and nothing else of it. */
  key_ids: Record<string, string>
}

export interface KeyFlags {
  'with-keys'?: boolean | undefined
  'passphrase-file'?: string | undefined
}

/** Copies every table of every service, as they were at one moment, to a new file. */
export async function backup(env: Env, file: string | undefined, flags: KeyFlags): Promise<Said> {
  if (!file) throw new UsageError('Name a new file: backup <file>')
  const passphrase = await passphraseOf(flags)
  const counts: Record<string, number> = {}
  const taken_at = await withDatabase(env, async (url) => {
    await checkOwnUrls(url, env)
    const keys = await keysOf(env)
    if (passphrase !== undefined) await proveKeys(url, keys, env)
    const box = passphrase === undefined ? undefined : await sealKeys(keys, passphrase)
    return readSnapshot(url, services, async (snapshot, rowsOf) => {
      const mode = (await modeOf(homeOf(env))) ?? null
      const head: Head = { format: FORMAT, mode, key_ids: keyIds(keys), ...snapshot }
      await writeArchive(file, async (add) => {
        await add(ENTRIES.head, Buffer.from(JSON.stringify(head, null, 1)))
        if (box) await add(ENTRIES.keys, box)
        for (const one of snapshot.tables)
          counts[`${one.schema}.${one.table}`] = await addTable(add, one, rowsOf)
        await add(ENTRIES.counts, Buffer.from(JSON.stringify(counts)))
      })
      return snapshot.taken_at
    })
  })
  const text = `${table(rowsByService(counts))}\n${file} holds the data of ${taken_at}${keyWords(passphrase)}`
  return { text, json: { file, taken_at, with_keys: passphrase !== undefined, rows: counts } }
}

const keyWords = (passphrase: string | undefined) =>
  passphrase === undefined
    ? '; the keys are not in it, keep a copy of them elsewhere'
    : ' and the keys under the passphrase'

/** The passphrase if keys are wanted. Throws UsageError where one of the two flags is missing. */
export async function passphraseOf(flags: KeyFlags): Promise<string | undefined> {
  if (flags['with-keys']) return readPassphrase(flags['passphrase-file'])
  if (flags['passphrase-file']) throw new UsageError('--passphrase-file needs --with-keys')
  return undefined
}

/** Throws where a service's own URL leads to another database than the owner's. */
export const checkOwnUrls = (url: string, env: Env) =>
  withClient(url, async (client) => {
    for (const service of services) {
      const own = ownUrlOf(service, env)
      if (own) await checkSameDatabase(client, own, `${service.toUpperCase()}_DATABASE_URL`)
    }
  })

/** Adds the rows of a table in entries of their own and answers how many rows it has. */
async function addTable(add: AddEntry, one: TableShape, rowsOf: RowsOf): Promise<number> {
  const rows = rowsOf(one)
  let [held, bytes, part]: [Buffer[], number, number] = [[], 0, 0]
  const flush = async () => {
    part += 1
    const name = `${one.schema}/${one.table}/${String(part).padStart(6, '0')}`
    await add(name, Buffer.concat(held))
    held = []
    bytes = 0
  }
  for await (const chunk of rows as AsyncIterable<Buffer>) {
    held.push(chunk)
    bytes += chunk.length
    if (bytes >= CHUNK_BYTES) await flush()
  }
  if (bytes > 0) await flush()
  return rows.rowCount
}

/** The keys in use, from the environment or the data folder. */
export async function keysOf(env: Env): Promise<Record<string, string>> {
  const settings = await operatorSettings(env)
  return Object.fromEntries(
    KEY_NAMES.flatMap((name) => (settings[name] ? [[name, settings[name]]] : [])),
  )
}

/** HKDF of each key: it tells no other secret of it. */
export const keyIds = (keys: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(keys).map(([name, key]) => {
      const id = Buffer.from(hkdfSync('sha256', key, 'guildhall', `backup key id:${name}`, 8))
      return [name, id.toString('hex')]
    }),
  )

/** Rows and tables of each service, for people. */
export function rowsByService(counts: Record<string, number>) {
  return services.map((service) => {
    const own = Object.entries(counts).filter(([name]) => name.startsWith(`${service}.`))
    return { service, tables: own.length, rows: own.reduce((sum, [, rows]) => sum + rows, 0) }
  })
}
