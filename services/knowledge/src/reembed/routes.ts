import { queueJob } from '@guildhall/bus/jobs'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { reembed, reembedQueued, startReembed } from '@guildhall/contracts/knowledge-settings'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { isQueued } from './queries.ts'
import { noEmbedder } from './run.ts'

export function reembedRoutes(app: App, { db, embedderOf }: Deps) {
  app.implement(startReembed, async ({ org, caller }, reply) => {
    const embedder = await embedderOf(org.id)
    if (!embedder) throw noEmbedder()
    await db.transaction().execute(async (trx) => {
      if (await isQueued(trx, org.id)) return // that one will do all there is to do
      await queueJob(trx, reembed, { org_id: org.id })
      await enqueue(trx, audit(reembedQueued, caller, org, { model: embedder.model }))
    })
    return reply.code(202).send({ queued: true })
  })
}
