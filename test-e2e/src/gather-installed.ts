import { createPrivateKey } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { natsPassword } from '@guildhall/bus/users'
import { peers, services } from '@guildhall/contracts/names'
import { rolePassword } from '@guildhall/db/provision'
import { withClient } from '@guildhall/db/shapes'
import { createSealer, type SealedFor } from '@guildhall/outbound/sealed'
import { demoWorld } from '@guildhall/sandbox/demo'
import { ownKey } from '@guildhall/service/internal-key'
import type { Secrets } from './gather.ts'

/** Shorter lines of a file, such as its first, are no secrets. */
const LEAST_LINE = 32

export const installedKey = async (home: string, name: string) =>
  (await readFile(join(home, 'keys', name), 'utf8')).trim()

/** What an installation holds itself, and what the sandbox's services are asked with. */
export async function installed(home: string): Promise<Secrets> {
  const names = ['secret_key', 'secrets_key', 'internal_key', 'postgres_password']
  const keys = await Promise.all(
    names.map(async (name) => [await installedKey(home, name), name] as const),
  )
  const internal = await installedKey(home, 'internal_key')
  const world = demoWorld(await installedKey(home, 'secret_key'))
  const { application, identity, keys: outside, webhooks = [] } = world
  return new Map([
    ...(await filesOf(home)),
    ...keys,
    ...peers.map((one) => [ownKey(internal, one), `own key of ${one}`] as const),
    ...services.map((one) => [rolePassword(internal, one), `${one}'s database`] as const),
    ...peers.map((one) => [natsPassword(internal, one), `${one}'s NATS password`] as const),
    [application.clientSecret, 'client secret'],
    [application.botToken, 'bot token'],
    [identity.secretKey, 'key of the identity provider'],
    ...webhooks.map(({ token }) => [token, 'webhook of a channel'] as const),
    ...Object.entries(outside).map(([name, key]) => [key, `key of ${name}`] as const),
  ])
}

/** The secrets that separate processes were given as files; none where all run in one. */
async function filesOf(home: string): Promise<Secrets> {
  const folder = join(home, 'secrets')
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const found: Secrets = new Map()
  for (const name of names)
    for (const form of formsOf(await readFile(join(folder, name))))
      if (form.trim()) found.set(form.trim(), `file ${name}`)
  return found
}

interface SealedRow {
  what: string
  key: string
  use: string
  sealed: string
  belongs: SealedFor
}

const SEALED = `
  select 'secret ' || name as what, 'secrets_key' as key, 'auth.secrets' as use, sealed_value as sealed,
    json_build_object('org', org_id, 'field', name) as belongs from auth.secrets
  union all select 'SSH key ' || name, 'secrets_key', 'compute.ssh_keys', sealed_private_key,
    json_build_object('org', org_id, 'field', 'ssh_key.' || name) from compute.org_keys
  union all select 'key of access tokens', 'secret_key', 'auth.signing_keys', sealed_private_key,
    json_build_object('org', null, 'field', 'signing_key:' || kid) from auth.signing_keys`

/** What is sealed in the embedded database, while it runs: secrets of orgs, and the keys that sign. */
export async function sealedIn(home: string): Promise<Secrets> {
  const port = (await readFile(join(home, 'postgres', 'port'), 'utf8')).trim()
  const password = await installedKey(home, 'postgres_password')
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  const rows = await withClient(url, async (client) => (await client.query<SealedRow>(SEALED)).rows)
  const opened: Secrets = new Map()
  for (const { what, key, use, sealed, belongs } of rows) {
    const plain = createSealer(await installedKey(home, key), use).open(sealed, belongs)
    for (const form of formsOf(plain)) opened.set(form, what)
  }
  return opened
}

/** How a value may stand in a log: each line of a text, and the ways in which an Ed25519 key is written. */
function formsOf(plain: Buffer): string[] {
  const text = plain.toString('utf8')
  const isText = Buffer.from(text).equals(plain)
  // a key file is JSON, with its line breaks escaped
  if (isText && !text.includes('-----BEGIN')) return [text]
  if (isText)
    return text.split(/\n|\\n/).filter((line) => line.length >= LEAST_LINE && !/-----/.test(line))
  const { d = '' } = createPrivateKey({ key: plain, format: 'der', type: 'pkcs8' }).export({
    format: 'jwk',
  })
  const seed = Buffer.from(d, 'base64url')
  return [d, seed.toString('base64'), seed.toString('hex'), plain.toString('base64')]
}
