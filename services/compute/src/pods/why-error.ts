import { manifestOnPod } from '../apps/queries.ts'
import { hider } from '../apps/rules.ts'
import { readSecrets } from '../clients/org-secrets.ts'
import type { LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'
import type { Seen } from './live.ts'

/**
 * What the host says last of a pod that it cannot run, without the secrets of the app on it; nothing of any
 * other pod, or where nobody tells.
 */
export async function whyError(
  { db, bus, podhost, log }: Deps,
  { id, org_id, pod_id }: LivePod,
  seen: Seen,
): Promise<string | undefined> {
  if (seen?.get(pod_id)?.status !== 'ERROR') return undefined
  try {
    const manifest = await manifestOnPod(db, id)
    const names = Object.values(manifest?.secret_env ?? {})
    const secrets = await readSecrets(bus, org_id, [...new Set(names)])
    return await podhost.lastLine(org_id, pod_id, hider(secrets))
  } catch (error) {
    log.warn({ err: error, pod_id }, 'Nobody says why a pod is in error')
    return undefined
  }
}
