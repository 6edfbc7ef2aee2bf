import { audit, enqueue } from '@guildhall/bus/outbox'
import { actorOf } from '@guildhall/contracts/event'
import { documentsUploaded, uploadDocuments } from '@guildhall/contracts/knowledge'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { checkPublisher } from '../sources/rules.ts'
import { uploadFiles } from './upload.ts'

/** Uploads of one org that one process has in hand: each keeps its files, up to 25 MB, in memory. */
const MOST_IN_HAND = 4
const RETRY_SECONDS = 10

export function documentRoutes(app: App, deps: Deps) {
  const inHand = new Map<number, number>()

  async function admitted<Result>(orgId: number, work: () => Promise<Result>): Promise<Result> {
    const count = inHand.get(orgId) ?? 0
    if (count >= MOST_IN_HAND) throw busy()
    inHand.set(orgId, count + 1)
    try {
      return await work()
    } finally {
      const left = (inHand.get(orgId) ?? 1) - 1
      if (left > 0) inHand.set(orgId, left)
      else inHand.delete(orgId)
    }
  }

  app.implement(uploadDocuments, async ({ org, body, caller }) => {
    checkPublisher(body, org, deps.config.KNOWLEDGE_PUBLISHERS)
    const by = { source: 'http' as const, ...actorOf(caller) }
    const files = await admitted(org.id, () => uploadFiles(deps, org, body, by))
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

const busy = () =>
  new AppError(
    'rate_limited',
    'document.busy',
    `The org has ${MOST_IN_HAND} uploads in hand, and more are not taken at once: send this one again when one of them is done`,
    { retryAfter: RETRY_SECONDS },
  )
