import type { Manifest } from '@guildhall/contracts/app-manifest'
import { SHOWN_DEPLOYMENTS } from '@guildhall/contracts/apps'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { AppRow, Db, DeploymentRow, Trx } from '../db.ts'

/** An app or a deployment with the host's id of its pod. */
export type WithPod<Row> = Row & { pod_id: string | null }
export type Waiting = WithPod<DeploymentRow> & { org_id: number; name: string }

const appsWithPod = (db: Db) =>
  db
    .selectFrom('apps')
    .leftJoin('pods', 'pods.id', 'apps.pod')
    .selectAll('apps')
    .select('pods.pod_id')

/** Up to `limit` apps of an org that were registered before the row `before`, the newest first. */
export function appsOfOrg(
  db: Db,
  orgId: number,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<WithPod<AppRow>[]> {
  let query = appsWithPod(db).where('apps.org_id', '=', orgId).orderBy('apps.id', 'desc')
  if (before !== undefined) query = query.where('apps.id', '<', before)
  return query.limit(limit).execute()
}

/** Throws 404 where the org has no such app, which is also what another org's looks like. */
export async function appByName(db: Db, orgId: number, name: string): Promise<WithPod<AppRow>> {
  const row = await appsWithPod(db)
    .where('apps.org_id', '=', orgId)
    .where('apps.name', '=', name)
    .executeTakeFirst()
  if (!row) throw noApp(name)
  return row
}

/** The repository that an app is registered with, if there are such an app and repository. */
export async function repoOf(db: Db, orgId: number, name: string) {
  const row = await db
    .selectFrom('apps')
    .select('repo')
    .where('org_id', '=', orgId)
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.repo
}

/** The app, which no other transaction deploys or deletes until this one ends. Throws 404. */
export async function lockApp(trx: Trx, orgId: number, name: string): Promise<AppRow> {
  const row = await trx
    .selectFrom('apps')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('name', '=', name)
    .forUpdate()
    .executeTakeFirst()
  if (!row) throw noApp(name)
  return row
}

const noApp = (name: string) =>
  new AppError('not_found', 'app.not_found', `There is no app ${name}`)

type Registered = Pick<AppRow, 'org_id' | 'name' | 'repo' | 'manifest_path'> & {
  manifest: Manifest
  now: Date
}

/** Registers an app or changes it; its pod and its deployments stay. */
export async function upsertApp(trx: Trx, { manifest, now, ...app }: Registered) {
  const { repo, manifest_path } = app
  const source = { repo, manifest_path, manifest: JSON.stringify(manifest), updated_at: now }
  const id = newId(now.getTime())
  const row = await trx
    .insertInto('apps')
    .values({ ...app, ...source, id, created_at: now, current_tag: null, pod: null })
    .onConflict((on) => on.constraint('apps_name').doUpdateSet(source))
    .returning('id')
    .executeTakeFirstOrThrow()
  return { created: row.id === id }
}

const deploymentsWithPod = (db: Db) =>
  db
    .selectFrom('deployments')
    .leftJoin('pods', 'pods.id', 'deployments.pod')
    .selectAll('deployments')
    .select('pods.pod_id')

/** The newest first. */
export function deploymentsOf(db: Db, app: string): Promise<WithPod<DeploymentRow>[]> {
  return deploymentsWithPod(db)
    .where('app', '=', app)
    .orderBy('deployments.id', 'desc')
    .limit(SHOWN_DEPLOYMENTS)
    .execute()
}

export function deploymentById(db: Db, id: string): Promise<WithPod<DeploymentRow> | undefined> {
  return deploymentsWithPod(db).where('deployments.id', '=', id).executeTakeFirst()
}

/** What a roll back deploys: the newest that was healthy, with another tag than the last deploy. Throws 409. */
export async function lastHealthy(db: Db, app: AppRow): Promise<DeploymentRow> {
  const row = await db
    .selectFrom('deployments')
    .selectAll()
    .where('app', '=', app.id)
    .where('state', '=', 'healthy')
    .where('tag', '!=', (sub) =>
      sub
        .selectFrom('deployments')
        .select('tag')
        .where('app', '=', app.id)
        .orderBy('id', 'desc')
        .limit(1),
    )
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row) return row
  throw new AppError(
    'conflict',
    'app.nothing_to_roll_back_to',
    `No deployment of ${app.name} with another tag was healthy; deploy a tag instead`,
  )
}

/** The manifest that the host was last told for this pod. */
export async function manifestOnPod(db: Db, pod: string): Promise<Manifest | undefined> {
  const row = await db
    .selectFrom('deployments')
    .select('manifest')
    .where('pod', '=', pod)
    .where('handed_at', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.manifest
}

/** Every deployment that is under way, with its app. */
export function deploymentsUnderWay(db: Db): Promise<Waiting[]> {
  return deploymentsWithPod(db)
    .innerJoin('apps', 'apps.id', 'deployments.app')
    .select(['apps.org_id', 'apps.name'])
    .where('deployments.state', '=', 'deploying')
    .orderBy('deployments.id')
    .execute()
}

/** The pod host has what this deployment asks for. */
export async function markHanded(db: Db, id: string, restart_due: boolean) {
  await db
    .updateTable('deployments')
    .set({ handed_at: sql<Date>`coalesce(handed_at, now())`, restart_due })
    .where('id', '=', id)
    .execute()
}

/** Ends a deployment that is under way; true for the first who does. */
export async function endDeployment(
  trx: Trx,
  id: string,
  end: Pick<DeploymentRow, 'state' | 'error' | 'finished_at'>,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('deployments')
    .set(end)
    .where('id', '=', id)
    .where('state', '=', 'deploying')
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
