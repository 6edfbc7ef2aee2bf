import { queueJob } from '@guildhall/bus/jobs'
import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import {
  type CrawlDefinition,
  crawlOne,
  crawlQueued,
  putCrawl,
  putOrgCrawl,
  reindex,
  reindexQueued,
  runCrawl,
  runOrgCrawl,
  startReindex,
} from '@guildhall/contracts/knowledge-crawls'
import type { OrgRef } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { sourceByKey } from '../sources/queries.ts'
import { checkPublisher, noSource } from '../sources/rules.ts'
import { define } from './define.ts'
import { crawlByKey } from './queries.ts'

export function crawlRoutes(app: App, deps: Deps) {
  app.implement(putCrawl, async ({ org, caller, params, body }, reply) => {
    const { source, made } = await defined(deps, { org, caller, key: params.key, body })
    return reply.code(made ? 201 : 200).send({ source })
  })
  app.implement(putOrgCrawl, async ({ org, caller, params, body }, reply) => {
    const { source, made } = await defined(deps, { org, caller, key: params.key, body })
    return reply.code(made ? 201 : 200).send({ source })
  })

  app.implement(runCrawl, async ({ org, caller, body }, reply) =>
    reply.code(202).send(await queueCrawl(deps, { org, caller, ...body })),
  )
  app.implement(runOrgCrawl, async ({ org, caller, body }, reply) =>
    reply.code(202).send(await queueCrawl(deps, { org, caller, ...body })),
  )

  app.implement(startReindex, async ({ org, caller }, reply) => {
    await deps.db.transaction().execute(async (trx) => {
      const asked_at = deps.now().toISOString()
      await queueJob(trx, reindex, { org_id: org.id, asked_at })
      await enqueue(trx, audit(reindexQueued, caller, org, {}))
    })
    return reply.code(202).send({ queued: true })
  })
}

interface Asked {
  org: OrgRef
  caller: Caller
  key: string
}

async function defined(deps: Deps, { org, caller, key, body }: Asked & { body: CrawlDefinition }) {
  checkPublisher(body, org, deps.config.KNOWLEDGE_PUBLISHERS)
  const made = await define(deps, { org, caller, key, definition: body })
  const source = await sourceByKey(deps.db, org.id, key)
  if (!source) throw noSource(key) // deleted meanwhile
  return { source, made }
}

async function queueCrawl(
  { db }: Deps,
  { org, caller, key, force }: Asked & { force: boolean },
): Promise<{ queued: true }> {
  if (!(await crawlByKey(db, org.id, key))) throw noCrawl(key)
  await db.transaction().execute(async (trx) => {
    await queueJob(trx, crawlOne, { org_id: org.id, key, force })
    await enqueue(trx, audit(crawlQueued, caller, org, { key, force }))
  })
  return { queued: true }
}

const noCrawl = (key: string) =>
  new AppError(
    'not_found',
    'crawl.not_found',
    `The org has no crawled source ${key}. Define it first with PUT crawls/${key}.`,
  )
