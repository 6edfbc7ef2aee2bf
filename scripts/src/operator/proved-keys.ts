import { services } from '@guildhall/contracts/names'
import { roleUrl } from '@guildhall/db/provision'
import { fits } from '@guildhall/db/service-role'
import { withClient } from '@guildhall/db/shapes'
import { keyIdsOf } from '@guildhall/outbound/sealed'
import { type Env, SettingsError } from '@guildhall/service/config'
import { ownUrlOf } from './migrations.ts'

/** Keys that the data need: cookies and tokens, sealed values, passwords of roles. */
export const KEY_NAMES = ['SECRET_KEY', 'SECRETS_KEY', 'INTERNAL_KEY'] as const
/** Where values stand that a key has sealed: `v1.<key id>.<the rest>`. */
const SEALED = {
  SECRET_KEY: `select sealed_private_key as sealed from auth.signing_keys`,
  SECRETS_KEY: `select sealed_value as sealed from auth.secrets
    union all select sealed_private_key from compute.org_keys
    union all select sealed_content from agents.memories where sealed_content is not null`,
} as const

/**
 * Throws SettingsError unless all keys are there and are those of this database: whoever restores would otherwise find
 * out too late. What a database cannot prove, since nothing is sealed yet, is believed.
 */
export async function proveKeys(url: string, keys: Record<string, string>, env: Env) {
  const missing = KEY_NAMES.filter((name) => !keys[name])
  if (missing.length > 0) throw refusal(`${missing.join(', ')} not found`)
  const { INTERNAL_KEY: internalKey = '' } = keys
  const service = services.find((one) => !ownUrlOf(one, env))
  if (service && !(await fits(roleUrl(url, service, internalKey))))
    throw refusal('INTERNAL_KEY is not the one of this database')
  for (const [name, sealed] of Object.entries(SEALED)) {
    const ids = keyIdsOf(keys[name] ?? '')
    const used = await idsOf(url, sealed)
    if (used.length > 0 && !used.some((id) => ids.includes(id)))
      throw refusal(`${name} opens nothing of what is sealed in this database`)
  }
}

const refusal = (why: string) =>
  new SettingsError(
    `${why}: set GUILDHALL_HOME to the folder of the installation, or SECRET_KEY, SECRETS_KEY and INTERNAL_KEY to its keys. No backup was made`,
  )

/** The ids of the keys in use. */
const idsOf = (url: string, sealed: string) =>
  withClient(url, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `select distinct split_part(sealed, '.', 2) as id from (${sealed}) as of_all`,
    )
    return rows.map(({ id }) => id)
  })
