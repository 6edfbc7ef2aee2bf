import { audit, enqueue } from '@guildhall/bus/outbox'
import { acceptHostKey, hostKeyAccepted } from '@guildhall/contracts/compute'
import type { App } from '@guildhall/service/app'
import { readHostKey } from '../clients/host-key.ts'
import type { Deps } from '../deps.ts'
import { openSessions, podById } from '../pods/queries.ts'
import { runningPod } from '../pods/running.ts'
import { shownPod } from '../pods/shown.ts'

export function hostKeyRoutes(app: App, deps: Deps) {
  const { db, hostKeys, live } = deps

  app.implement(acceptHostKey, async ({ org, params, body: { fingerprint }, caller }) => {
    const row = await podById(db, org.id, params.pod_id)
    const { pod, address } = await runningPod(deps, row)
    const key = await readHostKey(address)
    await db.transaction().execute(async (trx) => {
      await hostKeys.accept(trx, row, pod, { key, fingerprint })
      const said = { pod_id: row.pod_id, fingerprint }
      await enqueue(trx, audit(hostKeyAccepted, caller, org, said))
    })
    const after = await podById(db, org.id, params.pod_id)
    const [seen, sessions] = [await live.recentOrUnknown(org.id), await openSessions(db, [after])]
    return { pod: shownPod(after, seen, { sessions: sessions.get(after.id) }) }
  })
}
