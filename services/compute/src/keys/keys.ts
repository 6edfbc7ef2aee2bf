import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Sealer } from '@guildhall/outbound/sealed'
import { AppError } from '@guildhall/service/errors'
import { ed25519Blob } from '../certificates/wire.ts'
import type { Db, KeyName } from '../db.ts'

const NAMES = ['backend', 'user_ca'] as const satisfies KeyName[]
/** What private keys are sealed for. */
export const SEALED_USE = 'compute.ssh_keys'
const fieldOf = (name: KeyName) => `ssh_key.${name}`

interface Deps {
  db: Db
  sealer: Sealer
  now: () => Date
}

/**
 * The public keys of an org, one line each as in authorized_keys; made at the first asking. Of two who make
 * them at once one wins, and both get the same. Throws 503 `secrets_key.unset` where nothing can be sealed.
 */
export async function ensureKeys(deps: Deps, orgId: number): Promise<Record<KeyName, string>> {
  return (await publicKeys(deps.db, orgId)) ?? makeKeys(deps, orgId)
}

async function makeKeys({ db, sealer, now }: Deps, org_id: number) {
  const rows = NAMES.map((name) => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const der = privateKey.export({ format: 'der', type: 'pkcs8' })
    const sealed_private_key = sealer.seal(der, { org: org_id, field: fieldOf(name) })
    const public_key = `ssh-ed25519 ${ed25519Blob(publicKey).toString('base64')}`
    return { org_id, name, public_key, sealed_private_key, created_at: now() }
  })
  await db
    .insertInto('org_keys')
    .values(rows)
    .onConflict((on) => on.columns(['org_id', 'name']).doNothing())
    .execute()
  const made = await publicKeys(db, org_id)
  if (!made) throw new Error('The keys of an org vanished while they were made')
  return made
}

async function publicKeys(db: Db, orgId: number): Promise<Record<KeyName, string> | undefined> {
  const rows = await db
    .selectFrom('org_keys')
    .select(['name', 'public_key'])
    .where('org_id', '=', orgId)
    .execute()
  const [backend, user_ca] = NAMES.map((name) => rows.find((row) => row.name === name)?.public_key)
  return backend && user_ca ? { backend, user_ca } : undefined
}

/** The private key of an org. Throws 503 where there is none, or where SECRETS_KEY does not open it. */
export async function openKey(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  orgId: number,
  name: KeyName,
): Promise<KeyObject> {
  const row = await db
    .selectFrom('org_keys')
    .select('sealed_private_key')
    .where('org_id', '=', orgId)
    .where('name', '=', name)
    .executeTakeFirst()
  if (!row) throw noKeys()
  const der = sealer.open(row.sealed_private_key, { org: orgId, field: fieldOf(name) })
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

const noKeys = () =>
  new AppError(
    'unavailable',
    'compute.no_keys',
    'The org has no SSH keys yet; they are made with its first pod',
  )
