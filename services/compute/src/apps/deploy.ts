import { forgetKey, oncePerKey } from '@guildhall/bus/idempotency'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { appDeployFailed, type Deployment, type DryRun } from '@guildhall/contracts/apps'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { readSecrets } from '../clients/org-secrets.ts'
import { isNotMade } from '../clients/podhost-errors.ts'
import type { AppRow, LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'
import { deletePod, podByRecord } from '../pods/queries.ts'
import { settled } from '../pods/settled.ts'
import type { Deploying } from './asked.ts'
import { hand } from './hand.ts'
import { insertDeployment, type Wanted } from './intent.ts'
import { deploymentById, endDeployment, manifestOnPod, type WithPod } from './queries.ts'
import { checkSameMachine, hidden, patchOf, podOf, type SecretValues } from './rules.ts'
import { shownDeployment } from './shown.ts'

const RETRY_SECONDS = 60

export interface Started {
  deployment: Deployment
  pod_id: string | null
}

/** Deploys what is wanted. Its row is committed before the pod host is asked. */
export async function deploy(
  deps: Deps,
  { input, route }: Deploying,
  app: WithPod<AppRow>,
  wanted: Wanted,
): Promise<DryRun | Started> {
  const { db } = deps
  const { org, caller } = input
  const names = [...new Set(Object.values(wanted.manifest.secret_env))]
  const secrets = await readSecrets(deps.bus, org.id, names)
  await deps.podhost.checkConnected(org.id)
  const pod = await podToChange(deps, app, wanted)
  const dry = dryRun(app, wanted, pod, secrets) // and thereby every refusal before anything is written
  if (input.body.dry_run) return dry

  const mine = newId()
  const { id } = await db.transaction().execute((trx) =>
    oncePerKey(trx, { ...input, route }, async () => {
      await insertDeployment(trx, { id: mine, app, wanted, pod, by: caller, now: deps.now() })
      return { id: mine }
    }),
  )
  if (id === mine) {
    const deployment = await found(deps, id)
    const handing = { deployment: { ...deployment, org_id: org.id, name: app.name }, secrets }
    await hand(deps, { ...handing, by: caller }).catch((error) =>
      refused(deps, { input, route }, { id, app }, error),
    )
  }
  const deployment = shownDeployment(await handedOver(deps, id))
  return { deployment, pod_id: deployment.pod_id }
}

/** The pod that the app has on the host, if it can be changed into what is wanted; nothing where a new one is needed. */
async function podToChange({ db, podhost }: Deps, app: AppRow, { manifest }: Wanted) {
  const row = app.pod ? await podByRecord(db, app.pod) : undefined
  if (row?.state !== 'live') return undefined
  const pod = row as LivePod
  const pods = await podhost.list(app.org_id)
  if (!pods.some(({ id }) => id === pod.pod_id)) return undefined
  const before = await manifestOnPod(db, pod.id)
  if (before) checkSameMachine(before, manifest, pod.pod_id)
  return pod
}

function dryRun(
  app: AppRow,
  { manifest, tag, commit }: Wanted,
  pod: LivePod | undefined,
  secrets: SecretValues,
): DryRun {
  const record = pod?.id ?? '(new)'
  const asked = { manifest, tag, secrets, record, deployment: '(new)' }
  const body = pod ? patchOf(asked) : podOf(app.name, asked)
  return {
    dry_run: true,
    action: pod ? 'update' : 'create',
    pod_id: pod?.pod_id ?? null,
    commit: commit ?? null,
    pod: { ...hidden(body, manifest) },
  }
}

/** Where the host certainly did nothing the deployment has failed and the key is free; else the job goes on. */
async function refused(
  deps: Deps,
  { input, route }: Deploying,
  { id, app }: { id: string; app: AppRow },
  error: unknown,
): Promise<never> {
  if (!(error instanceof AppError)) throw error
  if (error.kind !== 'conflict' && !isNotMade(error)) throw unclear(error)
  const { message } = error
  const { tag, pod } = await found(deps, id)
  await deps.db.transaction().execute(async (trx) => {
    await forgetKey(trx, { ...input, route })
    const end = { state: 'failed', error: message, finished_at: deps.now() } as const
    if (!(await endDeployment(trx, id, end))) return
    const row = pod && (await podByRecord(trx, pod))
    if (row && row.state === 'creating') await deletePod(trx, row.id)
    const said = { app: app.name, deployment_id: id, tag }
    await enqueue(trx, audit(appDeployFailed, input.caller, input.org, said))
  })
  throw error
}

async function found({ db }: Deps, id: string) {
  const row = await deploymentById(db, id)
  if (row) return row
  throw new AppError('conflict', 'app.deleted', 'The app was deleted meanwhile')
}

/** The deployment, once whoever gives it to the host is done. */
const handedOver = (deps: Deps, id: string) =>
  settled(async () => {
    const row = await found(deps, id)
    return row.handed_at || row.state !== 'deploying' ? row : undefined
  }, unclear)

const unclear = (cause: unknown) =>
  new AppError(
    'upstream',
    'app.unclear',
    'The pod host did not say clearly whether it took the deployment. It is tried again each minute: see the deployments of the app.',
    { cause, retryAfter: RETRY_SECONDS },
  )
