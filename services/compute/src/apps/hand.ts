import type { audit } from '@guildhall/bus/outbox'
import { AppError } from '@guildhall/service/errors'
import { type Hide, isNotMade } from '../clients/podhost-errors.ts'
import type { HostPod } from '../clients/podhost-shapes.ts'
import type { LivePod, PodRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { adopt, podOfRecord } from '../pods/adopt.ts'
import { podByRecord } from '../pods/queries.ts'
import { markHanded, type Waiting } from './queries.ts'
import { hider, machineOfApp, patchOf, podOf, type SecretValues, withoutSecrets } from './rules.ts'

type By = Parameters<typeof audit>[1]

/** What the job does next with a pod that a deployment asks for. */
interface Handing {
  deployment: Waiting
  secrets: SecretValues
  by: By
}

/**
 * Gives a new deployment to the pod host: makes the app's pod or changes the one it has. Its row is committed
 * before. Throws without values of secrets; whether the host did it is certain only where `isNotMade` says so.
 */
export async function hand(deps: Deps, handing: Handing): Promise<void> {
  const { deployment, secrets } = handing
  try {
    const row = await rowOf(deps, deployment)
    if (row.state === 'live') await change(deps, handing, row as LivePod)
    else await make(deps, handing, row)
  } catch (error) {
    throw withoutSecrets(error, secrets)
  }
}

/** As `hand` for one whose first try was never answered: a pod is not asked for twice, only looked for. */
export async function handAgain(deps: Deps, handing: Handing, pods: HostPod[]): Promise<void> {
  const { deployment, secrets, by } = handing
  try {
    const row = await rowOf(deps, deployment)
    if (row.state === 'live') return await change(deps, handing, row as LivePod)
    const made = podOfRecord(pods, row.id)
    if (made) await taken(deps, handing, row, made, by)
  } catch (error) {
    throw withoutSecrets(error, secrets)
  }
}

async function make(deps: Deps, handing: Handing, row: PodRow) {
  const { podhost, log } = deps
  const { org_id } = row
  const wanted = podOf(row.name, askedOf(handing, row.id))
  const pod = await podhost.create(org_id, wanted, hider(handing.secrets)).catch(async (error) => {
    if (isNotMade(error)) throw error
    const said = withoutSecrets(error, handing.secrets)
    log.warn({ err: said, record: row.id }, 'The pod host gave no clear answer about a pod')
    const found = podOfRecord(await podhost.list(org_id).catch(() => []), row.id)
    if (!found) throw error
    return found
  })
  await taken(deps, handing, row, pod, handing.by)
}

async function taken(deps: Deps, { deployment }: Handing, row: PodRow, pod: HostPod, by: By) {
  await adopt(deps, row, pod, by)
  await markHanded(deps.db, deployment.id, false)
}

/** The start that ran before is written down first: what answers from it is not this deployment. */
async function change(deps: Deps, handing: Handing, row: LivePod) {
  const { db, podhost, live } = deps
  const { deployment } = handing
  const pod = (await podhost.list(row.org_id)).find(({ id }) => id === row.pod_id)
  if (!pod) throw podGone(row)
  await db
    .updateTable('deployments')
    .set({ started_before: pod.startedAt ?? null })
    .where('id', '=', deployment.id)
    .execute()
  const patch = patchOf(askedOf(handing, row.id))
  const hide = hider(handing.secrets)
  if (!(await podhost.change(row.org_id, row.pod_id, patch, hide))) throw podGone(row)
  live.forget(row.org_id)
  const restarted = await restart(deps, row, pod.status, hide)
  await db.transaction().execute(async (trx) => {
    await trx
      .updateTable('pods')
      .set({ machine: JSON.stringify(machineOfApp(deployment.manifest, deployment.tag)) })
      .where('id', '=', row.id)
      .execute()
    await markHanded(trx, deployment.id, !restarted)
  })
}

/** Has a pod run what it was changed to; false where the host cannot do so in the state it is in. */
export async function restart(deps: Deps, row: LivePod, status: HostPod['status'], hide?: Hide) {
  if (!['RUNNING', 'EXITED', 'ERROR'].includes(status)) return false
  const action = status === 'RUNNING' ? 'restart' : 'start'
  try {
    const moved = await deps.podhost.act(row.org_id, row.pod_id, action, hide)
    if (!moved) throw podGone(row)
  } catch (error) {
    if (error instanceof AppError && error.code === 'pod.wrong_state') return false
    throw error
  }
  deps.live.forget(row.org_id)
  await deps.db.transaction().execute((trx) => deps.hostKeys.unpin(trx, row))
  return true
}

async function rowOf({ db }: Deps, { pod, name }: Waiting): Promise<PodRow> {
  const row = pod ? await podByRecord(db, pod) : undefined
  if (!row)
    throw new AppError(
      'conflict',
      'app.pod_removed',
      `The pod of ${name} was terminated meanwhile; deploy again, and a new one is made`,
    )
  return row
}

function askedOf({ deployment, secrets }: Handing, record: string) {
  const { id, manifest, tag } = deployment
  return { manifest, tag, secrets, record, deployment: id }
}

const podGone = ({ pod_id }: LivePod) =>
  new AppError(
    'conflict',
    'app.pod_gone',
    `The pod host does not know the pod ${pod_id} any more; deploy again, and a new one is made`,
  )
