import { audit, enqueue } from '@guildhall/bus/outbox'
import { actorOf } from '@guildhall/contracts/event'
import { documentsUploaded, uploadDocuments } from '@guildhall/contracts/knowledge'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { checkPublisher } from '../sources/rules.ts'
import { uploadFiles } from './upload.ts'

export function documentRoutes(app: App, deps: Deps) {
  app.implement(uploadDocuments, async ({ org, body, caller }) => {
    checkPublisher(body, org, deps.config.KNOWLEDGE_PUBLISHERS)
    const files = await uploadFiles(deps, org, body, { source: 'http', ...actorOf(caller) })
    const counts = {
      indexed: files.filter(({ changed }) => changed).length,
      unchanged: files.filter(({ changed, error }) => !changed && error === null).length,
      failed: files.filter(({ error }) => error !== null).length,
    }
    if (counts.indexed > 0)
      await deps.db
        .transaction()
        .execute((trx) => enqueue(trx, audit(documentsUploaded, caller, org, counts)))
    return { files, ...counts }
  })
}
