import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  computeSettingsChanged,
  getComputeSettings,
  putComputeSettings,
} from '@guildhall/contracts/compute'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { podImageOf, setPodImage } from './queries.ts'

export function settingsRoutes(app: App, { db, config }: Deps) {
  const shown = (pod_image: string | null) => ({
    settings: { pod_image, deployment_pod_image: config.COMPUTE_POD_IMAGE ?? null },
  })

  app.implement(getComputeSettings, async ({ org }) => shown(await podImageOf(db, org.id)))

  app.implement(putComputeSettings, async ({ org, body: { pod_image }, caller }) => {
    await db.transaction().execute(async (trx) => {
      await setPodImage(trx, org.id, pod_image)
      await enqueue(trx, audit(computeSettingsChanged, caller, org, { pod_image }))
    })
    return shown(pod_image)
  })
}
