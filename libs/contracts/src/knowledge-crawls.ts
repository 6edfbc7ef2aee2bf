import { z } from 'zod'
import { machine, officer, officerOrTool } from './caller.ts'
import { audited } from './event.ts'
import { Instant, OrgParams } from './fields.ts'
import { job } from './job.ts'
import { Category, Source, SourceKey } from './knowledge.ts'
import { route } from './route.ts'

/** Sources that are fetched from the web (interface.md, Crawl definition and Crawl steps; decisions.md § 3). */

const PageUrl = z
  .string()
  .max(2000)
  .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), {
    error: 'a url is a whole http or https URL',
    abort: true,
  })
  .refine((text) => {
    const { username, password } = new URL(text)
    return !username && !password
  }, 'a url must not hold a user name or password')

export const CrawlDefinition = z.object({
  url: PageUrl,
  category: Category,
  fetch_every_hours: z.int().min(1).max(720).default(24),
  title: z.string().min(1).max(500).optional().describe("Instead of the page's own"),
  public: z.boolean().default(false),
  enabled: z
    .boolean()
    .default(true)
    .describe('False: it is crawled only when somebody asks for it by its key'),
})
export type CrawlDefinition = z.output<typeof CrawlDefinition>

const CrawlParams = z.object({ key: SourceKey })
const written = z.object({ source: Source })
const Wanted = z.object({
  key: SourceKey,
  force: z.boolean().default(false).describe('Write it even if unchanged or much shorter'),
})
const queued = z.object({ queued: z.literal(true) })

export const putCrawl = route({
  method: 'PUT',
  url: '/api/knowledge/crawls/*key',
  summary: 'Have a page crawled, or change how; 201 if the source is new',
  owner: 'knowledge',
  caller: machine('knowledge:write'),
  module: 'knowledge',
  params: CrawlParams,
  body: CrawlDefinition,
  reply: { 200: written, 201: written },
})

export const runCrawl = route({
  method: 'POST',
  url: '/api/knowledge/crawls/run',
  summary: 'Crawl one source now, due or not',
  owner: 'knowledge',
  caller: machine('knowledge:write'),
  module: 'knowledge',
  body: Wanted,
  reply: { 202: queued },
})

export const putOrgCrawl = route({
  method: 'PUT',
  url: '/api/dashboard/:org/knowledge/crawls/*key',
  summary: 'Have a page crawled, or change how; 201 if the source is new',
  owner: 'knowledge',
  caller: officer,
  module: 'knowledge',
  params: OrgParams.extend({ key: SourceKey }),
  body: CrawlDefinition,
  reply: { 200: written, 201: written },
})

export const runOrgCrawl = route({
  method: 'POST',
  url: '/api/dashboard/:org/knowledge/crawls/run',
  summary: 'Crawl one source now, due or not',
  owner: 'knowledge',
  caller: officer,
  module: 'knowledge',
  params: OrgParams,
  body: Wanted,
  reply: { 202: queued },
})

export const startReindex = route({
  method: 'POST',
  url: '/api/dashboard/:org/knowledge/reindex',
  summary: 'Crawl every crawled source that is enabled now, with force',
  owner: 'knowledge',
  caller: officerOrTool('knowledge:write'),
  module: 'knowledge',
  params: OrgParams,
  reply: { 202: queued },
})

export const crawlDue = job({
  name: 'knowledge.crawl_due',
  summary: 'Crawl sources that are due: never tried first, then by how long they wait',
  args: z.object({}),
  cron: '*/10 * * * *',
  attempts: 3,
  concurrency: 1,
  audited: false,
})

export const crawlOne = job({
  name: 'knowledge.crawl_source',
  summary: 'Crawl one source by its key',
  args: z.object({ org_id: z.int(), key: z.string(), force: z.boolean().default(false) }),
  attempts: 10,
  concurrency: 4,
  audited: true,
})

export const reindex = job({
  name: 'knowledge.reindex',
  summary: 'Crawl every enabled crawled source of an org with force',
  args: z.object({
    org_id: z.int(),
    asked_at: Instant.optional().describe('Those crawled since then are left out'),
  }),
  attempts: 10,
  concurrency: 2,
  audited: true,
})

const KeyNamed = z.object({ key: z.string() })
export const crawlWritten = audited('knowledge.crawl.written', KeyNamed)
export const crawlQueued = audited(
  'knowledge.crawl.queued',
  KeyNamed.extend({ force: z.boolean() }),
)
export const reindexQueued = audited('knowledge.reindex.queued', z.object({}))
