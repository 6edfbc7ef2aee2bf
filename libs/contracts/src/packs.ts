import { z } from 'zod'
import { machine, officer } from './caller.ts'
import { audited } from './event.ts'
import { OrgParams } from './fields.ts'
import { job } from './job.ts'
import { CrawlDefinition } from './knowledge-crawls.ts'
import { route } from './route.ts'

/** Content that any org can add: crawled pages, live queries and alert feeds (interface.md, Pack; decisions.md § 7). */

export const PackPage = z
  .object({
    key: z.string().describe('Its source has the key <pack>/<key>'),
    url: z.string(),
    title: z.string(),
    category: z.string(),
    fetch_every_hours: CrawlDefinition.shape.fetch_every_hours,
    needs_js: z.boolean().describe('Almost empty without a renderer'),
  })
  .meta({ id: 'PackPage' })

export const PackParam = z
  .object({
    name: z.string(),
    description: z.string(),
    required: z.boolean(),
    choices: z.array(z.string()).nullable().describe('What is accepted; null for any text'),
    many: z.boolean().describe('Takes a list'),
    example: z.string().nullable(),
  })
  .meta({ id: 'PackParam' })

export const PackQuery = z
  .object({
    key: z.string(),
    description: z.string(),
    params: z.array(PackParam),
    category: z.string(),
    index: z.boolean().describe('What it answers becomes a source of the org'),
    needs_js: z.boolean(),
    needs_search: z.boolean().describe('503 where neither org nor deployment has a web search'),
  })
  .meta({ id: 'PackQuery' })

export const PackFeed = z
  .object({
    key: z.string(),
    title: z.string(),
    description: z.string(),
    kind: z.enum(['github_jobs', 'hackathons']),
    config: z.record(z.string(), z.unknown()),
    every_hours: z.int(),
  })
  .meta({ id: 'PackFeed' })

export const Pack = z
  .object({
    name: z.string(),
    title: z.string(),
    description: z.string(),
    lms_url: z.string().nullable().describe("The school's learning system"),
    pages: z.array(PackPage),
    queries: z.array(PackQuery),
    feeds: z.array(PackFeed),
    unset: z
      .array(z.string())
      .describe(
        'Addresses that the operator has not given (PACK_SETTINGS): pages that need one are left out, queries answer 503',
      ),
    sources: z.int().describe("How many of the org's sources are pages of this pack"),
  })
  .meta({ id: 'Pack' })
export type Pack = z.output<typeof Pack>

const PackParams = z.object({ pack: z.string().max(100) })
const PackList = z.object({ packs: z.array(Pack) })
const QueryList = z.object({ queries: z.array(PackQuery) })

export const Question = z.object({
  source: z.string().min(1).max(100).describe('The key of a query'),
  params: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('A text each, or a list of texts where `many` is true'),
})
export type Question = z.output<typeof Question>

export const PackAnswer = z
  .object({
    pack: z.string(),
    source: z.string(),
    url: z.string().describe('The page; empty where the answer is made of several'),
    text: z.string(),
  })
  .meta({ id: 'PackAnswer' })
export type PackAnswer = z.output<typeof PackAnswer>

export const Synced = z.object({ added: z.int(), updated: z.int(), retired: z.int() })
export type Synced = z.output<typeof Synced>

export const listPacks = route({
  method: 'GET',
  url: '/api/packs',
  summary:
    "Packs with their pages, live queries and feeds, and how many of the org's sources they own",
  owner: 'knowledge',
  caller: machine('knowledge:read'),
  module: 'knowledge',
  reply: { 200: PackList },
})

export const listPackQueries = route({
  method: 'GET',
  url: '/api/packs/:pack/queries',
  summary: 'The live queries of a pack with their parameters and accepted values',
  owner: 'knowledge',
  caller: machine('knowledge:read'),
  module: 'knowledge',
  params: PackParams,
  reply: { 200: QueryList },
})

export const queryPack = route({
  method: 'POST',
  url: '/api/packs/:pack/query',
  summary: 'Ask a live query of a pack: its page is fetched now',
  owner: 'knowledge',
  caller: machine('knowledge:read'),
  module: 'knowledge',
  rate: 'search',
  params: PackParams,
  body: Question,
  reply: { 200: PackAnswer },
})

export const syncPack = route({
  method: 'POST',
  url: '/api/packs/:pack/sync',
  summary: "Make the pack's pages crawled sources of the org, and turn off those that left it",
  owner: 'knowledge',
  caller: machine('knowledge:write'),
  module: 'knowledge',
  params: PackParams,
  reply: { 200: Synced },
})

export const listOrgPacks = route({
  method: 'GET',
  url: '/api/dashboard/:org/knowledge/packs',
  summary:
    "Packs with their pages, live queries and feeds, and how many of the org's sources they own",
  owner: 'knowledge',
  caller: officer,
  module: 'knowledge',
  params: OrgParams,
  reply: { 200: PackList },
})

export const syncOrgPack = route({
  method: 'POST',
  url: '/api/dashboard/:org/knowledge/packs/:name/sync',
  summary: "Make the pack's pages crawled sources of the org, and start the crawl",
  owner: 'knowledge',
  caller: officer,
  module: 'knowledge',
  params: OrgParams.extend({ name: PackParams.shape.pack }),
  reply: { 202: Synced },
})

/** The pack that the routes of older integrations are of (interface.md, Versioning). */
export const LEGACY_PACK = 'campus'

export const listCampusQueries = route({
  method: 'GET',
  url: '/api/campus/queries',
  summary: 'As /api/packs/campus/queries, for older integrations',
  owner: 'knowledge',
  caller: machine('knowledge:read'),
  module: 'knowledge',
  reply: { 200: QueryList },
})

export const queryCampus = route({
  method: 'POST',
  url: '/api/campus/query',
  summary: 'As /api/packs/campus/query, for older integrations',
  owner: 'knowledge',
  caller: machine('knowledge:read'),
  module: 'knowledge',
  rate: 'search',
  body: Question,
  reply: { 200: PackAnswer },
})

export const syncCampus = route({
  method: 'POST',
  url: '/api/campus/sync',
  summary: 'As /api/packs/campus/sync, for older integrations',
  owner: 'knowledge',
  caller: machine('knowledge:write'),
  module: 'knowledge',
  reply: { 200: Synced },
})

export const indexPackResult = job({
  name: 'packs.index_result',
  owner: 'knowledge',
  summary: 'Make what a live query answered a source of the org',
  args: z.object({ result_id: z.uuid(), org_id: z.int().optional() }),
  attempts: 5,
  concurrency: 2,
  audited: false,
})

export const packSynced = audited(
  'knowledge.pack.synced',
  Synced.extend({ pack: z.string(), crawled: z.boolean().describe('The crawl was started') }),
)
