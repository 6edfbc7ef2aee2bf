import { z } from 'zod'
import { machine, officer, officerOrTool } from './caller.ts'
import { OrgParams } from './fields.ts'
import { Found, SearchQuery, Source, SourceFilters, SourceKey, SourcePage } from './knowledge.ts'
import { route } from './route.ts'

/** The text of a source, and what officers do by the routes that machine tokens have (interface.md, Knowledge, dashboard routes). */

const OrgSourceParams = OrgParams.extend({ key: SourceKey })

export const listOrgSources = route({
  method: 'GET',
  url: '/api/dashboard/:org/knowledge/sources',
  summary: "The org's sources, and whether it may publish public ones",
  owner: 'knowledge',
  caller: officer,
  module: 'knowledge',
  params: OrgParams,
  query: SourceFilters,
  reply: { 200: SourcePage.extend({ publisher: z.boolean() }) },
})

export const getOrgSource = route({
  method: 'GET',
  url: '/api/dashboard/:org/knowledge/sources/*key',
  summary: 'One source',
  owner: 'knowledge',
  caller: officerOrTool('knowledge:write'),
  module: 'knowledge',
  params: OrgSourceParams,
  reply: { 200: z.object({ source: Source }) },
})

/** Characters of one answer. */
export const MOST_TEXT_CHARS = 100_000

const TextQuery = z.object({
  key: SourceKey,
  offset: z.coerce.number<string>().int().min(0).max(2_147_483_647).default(0),
})

/** Characters are Unicode code points throughout, so that no answer cuts one. */
export const SourceText = z
  .object({
    key: z.string(),
    title: z.string(),
    text: z
      .string()
      .describe(
        'The page text that searches find, summaries left out: passages in their order, a blank line between, and where we cut the text ourselves without the title lines and repeated sentences',
      ),
    offset: z.int().describe('Code points before `text`'),
    next_offset: z.int().nullable().describe('Where to go on; null at the end'),
    total_chars: z.int().describe('Code points of the whole text'),
  })
  .meta({ id: 'SourceText' })
export type SourceText = z.output<typeof SourceText>

export const getSourceText = route({
  method: 'GET',
  url: '/api/knowledge/source-text',
  summary: "The text of one of the org's own sources, up to 100 000 characters at a time",
  owner: 'knowledge',
  caller: machine('knowledge:read'),
  module: 'knowledge',
  query: TextQuery,
  reply: { 200: SourceText },
})

export const getOrgSourceText = route({
  method: 'GET',
  url: '/api/dashboard/:org/knowledge/source-text',
  summary: "The text of one of the org's own sources, up to 100 000 characters at a time",
  owner: 'knowledge',
  caller: officer,
  module: 'knowledge',
  params: OrgParams,
  query: TextQuery,
  reply: { 200: SourceText },
})

export const deleteOrgSource = route({
  method: 'DELETE',
  url: '/api/dashboard/:org/knowledge/sources/*key',
  summary: 'Delete a source with its versions and passages',
  owner: 'knowledge',
  caller: officer,
  module: 'knowledge',
  params: OrgSourceParams,
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

export const searchAsOfficer = route({
  method: 'POST',
  url: '/api/dashboard/:org/knowledge/search',
  summary: "Search as the org's agents do",
  owner: 'knowledge',
  caller: officer,
  module: 'knowledge',
  rate: 'search',
  params: OrgParams,
  body: SearchQuery,
  reply: { 200: Found },
})
