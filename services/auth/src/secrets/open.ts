import type { Service } from '@guildhall/contracts/names'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { knownOrg } from '../orgs/queries.ts'
import { sealedSecrets, secretSealer } from './queries.ts'
import { declaredSecret } from './rules.ts'

/**
 * The values of those of the named secrets that are set. Throws where one is not declared for the reader, and
 * for a deactivated org unless all of them outlast that.
 */
export async function openSecretsFor(
  reader: Service,
  deps: Deps,
  { org_id, names }: { org_id: number; names: readonly string[] },
): Promise<Record<string, string>> {
  const foreign = names.find((name) => !declaredSecret(name).readers.includes(reader))
  if (foreign !== undefined)
    throw new AppError(
      'forbidden',
      'secret.other_reader',
      `${foreign} is not declared for ${reader}: add it to its readers in libs/contracts/src/secrets.ts`,
    )
  if (!names.every((name) => declaredSecret(name).outlasts)) await knownOrg(deps.db, org_id)
  return openSecrets(deps, org_id, names)
}

/** The values of those of the named secrets that are set. */
export async function openSecrets(
  { db, config }: Deps,
  org_id: number,
  names: readonly string[],
): Promise<Record<string, string>> {
  const rows = await sealedSecrets(db, org_id, names)
  if (rows.length === 0) return {} // without SECRETS_KEY as well
  const sealer = secretSealer(config)
  const open = ({ name, sealed_value }: (typeof rows)[0]) =>
    sealer.open(sealed_value, { org: org_id, field: name }).toString('utf8')
  return Object.fromEntries(rows.map((row) => [row.name, open(row)]))
}
