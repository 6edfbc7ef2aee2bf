import { audit, enqueue } from '@guildhall/bus/outbox'
import { actorOf } from '@guildhall/contracts/event'
import { documentsUploaded, uploadDocuments } from '@guildhall/contracts/knowledge'
import type { Handler } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { checkPublisher } from '../sources/rules.ts'
import { createAdmission } from './admission.ts'
import { uploadFiles } from './upload.ts'

export function documentRoutes(app: App, deps: Deps) {
  const admit = createAdmission()
  const upload: Handler<typeof uploadDocuments> = async ({ org, body, caller }) => {
    checkPublisher(body, org, deps.config.KNOWLEDGE_PUBLISHERS)
    const by = { source: 'http' as const, ...actorOf(caller) }
    const files = await uploadFiles(deps, org, body, by)
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
  }
  app.implement(uploadDocuments, upload, ({ org }) => admit(org?.id))
}
