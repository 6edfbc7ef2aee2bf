import { Manifest } from '@guildhall/contracts/app-manifest'
import { AppError } from '@guildhall/service/errors'
import { checkStorable } from '@guildhall/service/storable'
import { readRepoFile } from '../clients/code-host.ts'
import { readSecrets } from '../clients/org-secrets.ts'
import type { Deps } from '../deps.ts'

const OWN_TOKEN = 'github_token'

export interface RepoSource {
  repo: string
  path: string
  ref?: string | undefined
}

/** The manifest in a repository as it is now. Throws `app.manifest_invalid` (400) with each fault and its place. */
export async function readManifest(
  { bus, config }: Deps,
  orgId: number,
  { repo, path, ref }: RepoSource,
): Promise<{ manifest: Manifest; commit: string }> {
  const ownToken = async () => (await readSecrets(bus, orgId, [OWN_TOKEN]))[OWN_TOKEN]
  const { text, commit } = await readRepoFile(config, { repo, path, ref, ownToken })
  const where = `${path} of ${repo} at ${commit.slice(0, 12)}`
  const parsed = Manifest.safeParse(parseJson(text, where))
  if (!parsed.success) throw invalid(where, parsed.error.issues)
  checkStorable(parsed.data)
  return { manifest: parsed.data, commit }
}

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new AppError(
      'invalid',
      'app.manifest_not_json',
      `${where} is not JSON; the manifest is one JSON object`,
    )
  }
}

interface Issue {
  path: PropertyKey[]
  message: string
  /** Fields that there are not. */
  keys?: string[]
}

function invalid(where: string, issues: Issue[]): AppError {
  const details = issues.flatMap(({ path, message, keys }) => {
    const place = ['/manifest', ...path.map(String)].join('/')
    return keys
      ? keys.map((key) => ({ path: `${place}/${key}`, message: 'is no field of it' }))
      : [{ path: place, message }]
  })
  const said = details.map(({ path, message }) => `${path}: ${message}`).join('; ')
  return new AppError('invalid', 'app.manifest_invalid', `${where}: ${said}`, { details })
}
