import { z } from 'zod'
import { call } from './call.ts'
import { officer, officerOrTool } from './caller.ts'
import { audited } from './event.ts'
import { Instant, nextCursor, OrgParams, Paging } from './fields.ts'
import { job } from './job.ts'
import { KnowledgeSettings } from './knowledge.ts'
import { route } from './route.ts'

/** How an org has its sources cut, embedded and searched, and what became of that (decisions.md § 3). */

const SettingsShown = z.object({
  settings: KnowledgeSettings.describe('What counts'),
  defaults: KnowledgeSettings.describe('What counts where the org set nothing'),
  embeddings: z.object({
    configured: z.boolean().describe("The org has an embedder: its own, or the deployment's"),
    model: z.string().nullable(),
  }),
})

export const getKnowledgeSettings = route({
  method: 'GET',
  url: '/api/dashboard/:org/knowledge/settings',
  summary: 'How the org searches and cuts its texts',
  owner: 'knowledge',
  caller: officerOrTool('knowledge:read'),
  module: 'knowledge',
  params: OrgParams,
  reply: { 200: SettingsShown },
})

const setting = KnowledgeSettings.shape
export const SettingsChange = z
  .strictObject({
    chunk_chars: setting.chunk_chars.nullable(),
    chunk_overlap: setting.chunk_overlap.nullable(),
    mode: setting.mode.nullable(),
    top_k: setting.top_k.nullable(),
    window: setting.window.nullable(),
    max_distance: setting.max_distance.nullable(),
    rrf_k: setting.rrf_k.nullable(),
  })
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'Send at least one setting')
export type SettingsChange = z.output<typeof SettingsChange>

export const putKnowledgeSettings = route({
  method: 'PUT',
  url: '/api/dashboard/:org/knowledge/settings',
  summary: 'Change settings; null returns one to its default, those not named stay',
  owner: 'knowledge',
  caller: officerOrTool('settings:write'),
  module: 'knowledge',
  params: OrgParams,
  body: SettingsChange,
  reply: { 200: SettingsShown },
})

/** An officer's page waits for this, and does without. */
const SETTINGS_MS = 1_000

export const findKnowledgeSettings = call({
  service: 'knowledge',
  name: 'find_settings',
  summary: 'What an org set itself',
  callers: ['auth'],
  args: z.object({ org_id: z.int() }),
  reply: z.object({ own: KnowledgeSettings.partial() }),
  deadlineMs: SETTINGS_MS,
})

export const KnowledgeRun = z
  .object({
    id: z.uuid(),
    source_key: z
      .string()
      .describe('Of a file of which no key could be made: its folder and its name'),
    kind: z.enum(['crawl', 'upload']),
    started_at: Instant,
    duration_ms: z.int(),
    changed: z.boolean().describe('The source has a new version'),
    chunks: z.int(),
    error: z.string().nullable(),
  })
  .meta({ id: 'KnowledgeRun' })
export type KnowledgeRun = z.output<typeof KnowledgeRun>

export const listKnowledgeRuns = route({
  method: 'GET',
  url: '/api/dashboard/:org/knowledge/runs',
  summary: 'What became of crawls and uploads, newest first; the last 500 are kept',
  owner: 'knowledge',
  caller: officerOrTool('knowledge:read'),
  module: 'knowledge',
  params: OrgParams,
  query: Paging.extend({ failed: z.stringbool().default(false).describe('Only failures') }),
  reply: { 200: z.object({ runs: z.array(KnowledgeRun), next_cursor: nextCursor }) },
})

export const startReembed = route({
  method: 'POST',
  url: '/api/dashboard/:org/knowledge/reembed',
  summary: "Make new vectors where another model made them than the org's embedder has now",
  owner: 'knowledge',
  caller: officer,
  module: 'knowledge',
  params: OrgParams,
  reply: { 202: z.object({ queued: z.literal(true) }) },
})

export const reembed = job({
  name: 'knowledge.reembed',
  summary: "Make new vectors of an org's sources with the embedder that it has now",
  args: z.object({
    org_id: z.int(),
    model: z.string().optional().describe('What `after` was reached with'),
    after: z.uuid().optional().describe('The source that the turn before this one ended with'),
  }),
  attempts: 5,
  concurrency: 2,
  audited: true,
})

export const knowledgeSettingsChanged = audited(
  'knowledge.settings.changed',
  z.object({ fields: z.array(z.string()) }),
)
export const reembedQueued = audited('knowledge.reembed.queued', z.object({ model: z.string() }))
