import assert from 'node:assert/strict'
import { getSource } from '@guildhall/contracts/knowledge'
import { crawlOne, putCrawl } from '@guildhall/contracts/knowledge-crawls'
import { getSourceText } from '@guildhall/contracts/knowledge-dashboard'
import type { Env } from '@guildhall/service/config'
import { testKnowledge } from './testing.ts'
import { member } from './testing-bodies.ts'
import { testSite } from './testing-site.ts'

const FAST = { KNOWLEDGE_CRAWL_GAP_SECONDS: '0' }
type Knowledge = Awaited<ReturnType<typeof testKnowledge>>

/** knowledge and a site. `put` defines a crawl, `crawled` runs it and answers the source as it is then. */
export async function crawling(
  t: Parameters<typeof testKnowledge>[0],
  more: Env = {},
  options: Parameters<typeof testKnowledge>[3] = {},
) {
  const site = await testSite(t)
  const knowledge = await testKnowledge(t, { ...FAST, ...more }, undefined, options)
  const put = async (definition: object, key = 'p') => {
    const body = { category: 'web', url: site.at('/p'), ...definition }
    const reply = await knowledge.as(member(1)).call(putCrawl, { params: { key }, body })
    assert.ok(reply.status === 200 || reply.status === 201, JSON.stringify(reply.body))
    return { status: reply.status, source: reply.body.source }
  }
  const crawled = async (force = false, key = 'p') => {
    const run = await knowledge.run(crawlOne, { org_id: 1, key, force })
    const { outcome } = (run.result ?? {}) as { outcome?: string }
    return { outcome, source: await sourceOf(knowledge, key) }
  }
  /** knowledge again, on what the last one left. */
  const restart = () => testKnowledge(t, {}, knowledge.settings, options)
  return { ...knowledge, site, put, crawled, restart }
}

export async function sourceOf({ as }: Pick<Knowledge, 'as'>, key: string) {
  const reply = await as(member(1)).call(getSource, { params: { key } })
  assert.ok(reply.status === 200)
  return reply.body.source
}

export async function textOf({ as }: Pick<Knowledge, 'as'>, key = 'p') {
  const reply = await as(member(1)).call(getSourceText, { query: { key } })
  assert.ok(reply.status === 200)
  return reply.body.text
}
