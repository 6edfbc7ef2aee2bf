import { ask } from '@guildhall/bus/calls'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { appDeployed, appDeployFailed } from '@guildhall/contracts/apps'
import { findOrg } from '@guildhall/contracts/orgs'
import type { Log } from '@guildhall/service/log'
import { readSecrets } from '../clients/org-secrets.ts'
import type { HostPod } from '../clients/podhost-shapes.ts'
import type { LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'
import type { Seen } from '../pods/live.ts'
import { podByRecord } from '../pods/queries.ts'
import { handAgain, restart } from './hand.ts'
import { whyUnhealthy } from './health.ts'
import {
  deploymentById,
  deploymentsUnderWay,
  endDeployment,
  markHanded,
  type Waiting,
} from './queries.ts'
import { DEPLOYMENT_ENV } from './rules.ts'

/** How long a deployment may take to be healthy (decisions.md § 2). */
const LONGEST_MS = 15 * 60_000
/** A request that still waits for the host is left alone. */
const GRACE_MS = 60_000
const BY = { source: 'job', actor_kind: 'job', actor_id: 'apps.check_deployments' } as const

interface Checking {
  deps: Deps
  log: Log
  signal: AbortSignal
}

/**
 * Asks after every deployment that is under way, all at once. Those of an org that is deactivated or has
 * apps switched off are left as they are. A run twice, or beside another, changes nothing twice.
 */
export async function checkApps(deps: Deps, log: Log, signal: AbortSignal): Promise<void> {
  const waiting = await deploymentsUnderWay(deps.db)
  const orgs = [...Map.groupBy(waiting, ({ org_id }) => org_id)]
  await Promise.all(
    orgs.map(([orgId, rows]) =>
      checkOrg({ deps, log, signal }, orgId, rows).catch((error) =>
        log.warn({ err: error, org: orgId }, 'Deployments of an org cannot be checked now'),
      ),
    ),
  )
}

async function checkOrg(checking: Checking, orgId: number, rows: Waiting[]) {
  const { deps, log } = checking
  const { org } = await ask(deps.bus, findOrg, { id: orgId })
  if (!org?.modules.includes('apps')) return
  const seen = await deps.live.nowOrUnknown(orgId)
  await Promise.all(
    rows.map((row) =>
      checkOne(checking, row, seen).catch((error) =>
        log.warn({ err: error, deployment: row.id }, 'A deployment cannot be checked now'),
      ),
    ),
  )
}

async function checkOne(checking: Checking, row: Waiting, seen: Seen) {
  const { deps, signal } = checking
  const age = deps.now().getTime() - row.created_at.getTime()
  const why = row.handed_at
    ? await whyNotUp(deps, row, seen, signal)
    : 'The pod host did not take the deployment'
  if (signal.aborted) return
  if (why === undefined) await end(deps, row, undefined)
  else if (age >= LONGEST_MS) await end(deps, row, why)
  else if (seen) await goOn(checking, row, seen, age)
}

/** Does what is left to do for a deployment that is not up. */
async function goOn({ deps, log }: Checking, row: Waiting, seen: NonNullable<Seen>, age: number) {
  const fresh = await deploymentById(deps.db, row.id)
  if (fresh?.state !== 'deploying') return
  if (!fresh.handed_at && age >= GRACE_MS) {
    const names = [...new Set(Object.values(row.manifest.secret_env))]
    const secrets = await readSecrets(deps.bus, row.org_id, names)
    await handAgain(deps, { deployment: row, secrets, by: BY }, [...seen.values()])
    log.info({ deployment: row.id }, 'A deployment was given to the pod host again')
  }
  const pod = fresh.restart_due ? seen.get(fresh.pod_id ?? '') : undefined
  if (!pod) return
  const live = fresh.pod ? await podByRecord(deps.db, fresh.pod) : undefined
  if (live && (await restart(deps, live as LivePod, pod.status)))
    await markHanded(deps.db, row.id, false)
}

/** Why the pod does not run this deployment in health; nothing where it does. */
async function whyNotUp(deps: Deps, row: Waiting, seen: Seen, signal: AbortSignal) {
  if (!seen) return 'The pod host does not answer'
  const pod = seen.get(row.pod_id ?? '')
  if (!pod) return 'The pod host does not know the pod any more'
  const why = whyNotRunning(row, pod)
  const { health } = row.manifest
  if (why !== undefined || !health) return why
  return whyUnhealthy(deps.config, pod.id, health, signal)
}

/** What the start before this deployment answers does not count. */
function whyNotRunning(row: Waiting, { status, env, startedAt }: HostPod) {
  if (status !== 'RUNNING') return `The pod is ${status}`
  if (env?.[DEPLOYMENT_ENV] !== row.id) return 'The pod runs another deployment'
  const restarted = row.started_before === null || startedAt !== row.started_before
  return row.restart_due || !restarted ? 'The pod was not restarted yet' : undefined
}

/** Ends a deployment, failed where there is a reason; the first who does so tells of it. */
async function end({ db, now }: Deps, row: Waiting, why: string | undefined) {
  const state = why === undefined ? 'healthy' : 'failed'
  await db.transaction().execute(async (trx) => {
    if (!(await endDeployment(trx, row.id, { state, error: why ?? null, finished_at: now() })))
      return
    if (state === 'healthy')
      await trx
        .updateTable('apps')
        .set({ current_tag: row.tag })
        .where('id', '=', row.app)
        .execute()
    const said = { app: row.name, deployment_id: row.id, tag: row.tag }
    const event = state === 'healthy' ? appDeployed : appDeployFailed
    await enqueue(trx, audit(event, BY, { id: row.org_id }, said))
  })
}
