import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  appDeleted,
  appRegistered,
  DEFAULT_MANIFEST_PATH,
  type NewApp,
  type NewDeployment,
} from '@guildhall/contracts/apps'
import { AppError } from '@guildhall/service/errors'
import type { AppRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { podByRecord } from '../pods/queries.ts'
import type { By, OfApp } from './asked.ts'
import type { Wanted } from './intent.ts'
import { lockApp, repoOf, upsertApp } from './queries.ts'
import { checkRepos } from './repo-limits.ts'
import { readManifest } from './source.ts'

/** Registers an app, or changes it. A manifest in a repository is read now, so that faults show now. */
export async function register(
  deps: Deps,
  { org, params: { name }, body, caller }: OfApp & { body: NewApp; caller: By },
): Promise<{ created: boolean }> {
  await checkRepos(deps, { org, caller }, [body.repo, await repoOf(deps.db, org.id, name)])
  const { repo = null, manifest_path: path = DEFAULT_MANIFEST_PATH } = body
  const manifest =
    body.manifest ?? (await readManifest(deps, org.id, { repo: repo ?? '', path })).manifest
  const source = { repo, manifest_path: repo && path }
  return deps.db.transaction().execute(async (trx) => {
    const now = deps.now()
    const written = await upsertApp(trx, { org_id: org.id, name, ...source, manifest, now })
    await enqueue(trx, audit(appRegistered, caller, org, { app: name, repo }))
    return written
  })
}

/** Forgets an app with its deployments; its pod stays and says so. */
export async function remove(
  deps: Deps,
  { org, params: { name }, caller }: OfApp & { caller: By },
) {
  const { db } = deps
  await checkRepos(deps, { org, caller }, [await repoOf(db, org.id, name)])
  return db.transaction().execute(async (trx) => {
    const app = await lockApp(trx, org.id, name)
    const row = app.pod ? await podByRecord(trx, app.pod) : undefined
    const pod_id = row?.pod_id ?? null
    await trx.deleteFrom('apps').where('id', '=', app.id).execute()
    await enqueue(trx, audit(appDeleted, caller, org, { app: name, pod_id }))
    const left = `Its pod ${pod_id} goes on running and costing; terminate it among the pods`
    return { deleted: true, pod_id, message: pod_id ? left : 'It had no pod' } as const
  })
}

/** What a deploy runs: a manifest in a repository is read again, as it is at `ref`. */
export async function wantedOf(
  deps: Deps,
  app: AppRow,
  { tag, ref }: NewDeployment,
): Promise<Wanted> {
  const { repo, manifest_path: path } = app
  const what = { tag, ref: ref ?? null, rollback: false }
  if (repo && path)
    return { ...what, ...(await readManifest(deps, app.org_id, { repo, path, ref })) }
  if (ref === undefined) return { ...what, manifest: app.manifest, commit: null }
  const message = `${app.name} was registered with its manifest, so there is no ref to read one at; leave ref out`
  throw new AppError('invalid', 'app.no_repo', message, {
    details: [{ path: '/body/ref', message }],
  })
}

export const noPodYet = (name: string) =>
  new AppError('not_found', 'app.no_pod', `${name} has no pod; deploy it, and one is made`)
