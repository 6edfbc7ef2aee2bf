import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Manifest } from '@guildhall/contracts/app-manifest'
import { appDeployStarted } from '@guildhall/contracts/apps'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { AppRow, LivePod, Trx } from '../db.ts'
import { insertIntent } from '../pods/queries.ts'
import { type By, nameOf } from './asked.ts'
import { endDeployment, lockApp } from './queries.ts'
import { machineOfApp } from './rules.ts'

/** What a deploy or a roll back runs. */
export interface Wanted {
  manifest: Manifest
  tag: string
  ref: string | null
  commit: string | null
  rollback: boolean
}

interface Intent {
  id: string
  /** As it was read; another deploy may have come since. */
  app: AppRow
  wanted: Wanted
  /** Nothing where the host is asked for a new one. */
  pod: LivePod | undefined
  by: By
  now: Date
}

/**
 * Writes down that the host is about to be told of a deployment, and takes the place of one that waits for
 * its health. Throws 409 `app.busy` while another is being given to the host.
 */
export async function insertDeployment(trx: Trx, { id, app, wanted, pod, by, now }: Intent) {
  const locked = await lockApp(trx, app.org_id, app.name)
  if (locked.id !== app.id || locked.pod !== app.pod) throw busy(app)
  await replaceWaiting(trx, app, now)
  const record = pod?.id ?? newId(now.getTime())
  if (!pod) {
    await insertIntent(trx, {
      id: record,
      org_id: app.org_id,
      name: app.name,
      is_public: false,
      allowed_users: [],
      machine: machineOfApp(wanted.manifest, wanted.tag),
      created_by: nameOf(by),
      created_at: now,
    })
  }
  await trx
    .updateTable('apps')
    .set({
      pod: record,
      manifest: JSON.stringify(wanted.rollback ? locked.manifest : wanted.manifest),
    })
    .where('id', '=', app.id)
    .execute()
  await trx
    .insertInto('deployments')
    .values({
      ...wanted,
      id,
      app: app.id,
      manifest: JSON.stringify(wanted.manifest),
      state: 'deploying',
      error: null,
      pod: record,
      handed_at: null,
      started_before: null,
      created_by: nameOf(by),
      created_at: now,
      finished_at: null,
    })
    .execute()
  const said = { app: app.name, deployment_id: id, tag: wanted.tag, rollback: wanted.rollback }
  await enqueue(trx, audit(appDeployStarted, by, { id: app.org_id }, said))
}

async function replaceWaiting(trx: Trx, app: AppRow, now: Date) {
  const waiting = await trx
    .selectFrom('deployments')
    .select(['id', 'handed_at'])
    .where('app', '=', app.id)
    .where('state', '=', 'deploying')
    .executeTakeFirst()
  if (!waiting) return
  if (!waiting.handed_at) throw busy(app)
  await endDeployment(trx, waiting.id, { state: 'replaced', error: null, finished_at: now })
}

const busy = ({ name }: AppRow) =>
  new AppError(
    'conflict',
    'app.busy',
    `Another deploy of ${name} is being given to the pod host; wait until it is done and deploy again`,
    { retryAfter: 10 },
  )
