import { forgetKey, oncePerKey } from '@guildhall/bus/idempotency'
import { createPod } from '@guildhall/contracts/compute'
import type { Input } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { nameOf } from '../apps/asked.ts'
import { isNotMade } from '../clients/podhost-errors.ts'
import type { LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'
import { ensureKeys } from '../keys/keys.ts'
import { podImageOf } from '../settings/queries.ts'
import { adopt, podOfRecord } from './adopt.ts'
import { deletePod, insertIntent, podByRecord } from './queries.ts'
import { hostPodOf, imageOf, machineOf, newName } from './rules.ts'
import { settled } from './settled.ts'

/** The job that adopts pods runs each minute. */
const RETRY_SECONDS = 60

type Asked = Input<typeof createPod>

/**
 * Makes a pod on the org's account. Its row is committed before the host is asked, so that a pod whose
 * answer is lost is still found: here, or by `compute.reconcile`.
 */
export async function makePod(deps: Deps, input: Asked): Promise<LivePod> {
  const { db, podhost, config, now } = deps
  const { org, body, caller } = input
  const image = body.image_name ?? (await podImageOf(db, org.id)) ?? config.COMPUTE_POD_IMAGE
  const machine = machineOf(body, imageOf(image))
  await podhost.checkConnected(org.id)
  const keys = await ensureKeys(deps, org.id)
  const id = newId()
  const { name = newName(), is_public, allowed_users, env } = body
  const created_by = nameOf(caller)
  const intent = { id, org_id: org.id, name, is_public, allowed_users, machine, created_by }
  const { record } = await db.transaction().execute((trx) =>
    oncePerKey(trx, { ...input, route: createPod }, async () => {
      await insertIntent(trx, { ...intent, created_at: now() })
      return { record: id }
    }),
  )
  if (record !== id) return liveOf(deps, record)
  const pod = await askHost(deps, input, intent, hostPodOf({ record, name, machine, env, keys }))
  await adopt(deps, intent, pod, caller)
  return liveOf(deps, record)
}

/** The pod that the host made. Throws with the intent undone only where it is certain that there is none. */
async function askHost(
  { db, podhost, log }: Deps,
  input: Asked,
  { id, org_id }: { id: string; org_id: number },
  wanted: ReturnType<typeof hostPodOf>,
) {
  try {
    return await podhost.create(org_id, wanted)
  } catch (error) {
    if (isNotMade(error)) {
      await db.transaction().execute(async (trx) => {
        await deletePod(trx, id)
        await forgetKey(trx, { ...input, route: createPod })
      })
      throw error
    }
    log.warn({ err: error, record: id }, 'The pod host gave no clear answer about a new pod')
    const found = podOfRecord(await podhost.list(org_id).catch(() => []), id)
    if (found) return found
    throw unclear(error)
  }
}

/** The pod of a record, once whoever makes it is done. */
const liveOf = ({ db }: Deps, record: string) =>
  settled(async () => {
    const row = await podByRecord(db, record)
    if (!row) throw refusedMeanwhile()
    return row.state === 'live' ? (row as LivePod) : undefined
  }, unclear)

const unclear = (cause: unknown) =>
  new AppError(
    'upstream',
    'pod.unclear',
    'The pod host did not say clearly whether it made the pod. If it did, the pod appears in the list within minutes; look there before you make another.',
    { cause, retryAfter: RETRY_SECONDS },
  )

const refusedMeanwhile = () =>
  new AppError(
    'conflict',
    'pod.not_made',
    'The pod of the first request with this key was refused or is gone; take a new Idempotency-Key',
  )
