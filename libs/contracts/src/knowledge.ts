import { z } from 'zod'
import { call } from './call.ts'
import { machine, officer } from './caller.ts'
import { hasDirection, NO_DIRECTION } from './direction.ts'
import { audited } from './event.ts'
import { Instant, nextCursor, OrgParams, Paging } from './fields.ts'
import { job } from './job.ts'
import { FileParts, MEBIBYTE, route } from './route.ts'

/** Sources that agents search (interface.md, Knowledge source; decisions.md § 3). */

/** Numbers in every embedding (interface.md, Limits). */
export const EMBEDDING_LENGTH = 1024
export const MOST_CHUNKS = 5000
export const MOST_CHUNK_CHARS = 20_000

/** A path of the org's choosing. URL parsers on the way fold empty and dot segments, so these are refused. */
export const SourceKey = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,254}$/, 'a key is up to 255 of A-Z a-z 0-9 . _ : / -')
  .refine(
    (key) => !key.split('/').some((part) => ['', '.', '..'].includes(part)),
    'a key has no empty, . or .. part',
  )

export const Category = z.string().min(1).max(100)
const Embedding = z.array(z.number()).length(EMBEDDING_LENGTH)

export const NewChunk = z.object({
  ordinal: z.int32().min(0),
  content: z.string().min(1).max(MOST_CHUNK_CHARS),
  embedding: Embedding.optional(),
  level: z.int().min(0).max(10).default(0),
  parent_ordinal: z.int32().min(0).nullable().default(null),
})
export type NewChunk = z.output<typeof NewChunk>

export const SourceBody = z.object({
  category: Category,
  title: z.string().min(1).max(500),
  url: z
    .string()
    .max(2000)
    .regex(/^(https?:\/\/.*)?$/, 'a url begins with http:// or https://, or is empty')
    .default(''),
  public: z.boolean().default(false),
  content_hash: z.string().min(1).max(128).optional(),
  embedding_model: z.string().min(1).max(200).optional(),
  chunks: z.array(NewChunk).min(1).max(MOST_CHUNKS),
})
export type SourceBody = z.output<typeof SourceBody>

export const Source = z
  .object({
    id: z.uuid(),
    key: z.string(),
    category: z.string(),
    title: z.string(),
    url: z.string(),
    public: z.boolean(),
    version: z
      .object({
        id: z.uuid(),
        content_hash: z.string(),
        embedding_model: z.string().nullable(),
        chunk_count: z.int(),
        text_chars: z.int(),
        fetched_at: Instant,
      })
      .nullable()
      .describe('What searches find; null until the first version is indexed'),
    crawl: z
      .object({
        fetch_every_hours: z.int(),
        enabled: z.boolean(),
        last_attempt_at: Instant.nullable(),
        last_error: z.string().nullable().describe('Why the last crawl failed; null if it did not'),
        due_at: Instant.nullable().describe('When it is crawled next; null while not enabled'),
      })
      .nullable()
      .describe('Null for a source that is written or uploaded'),
    updated_at: Instant,
  })
  .meta({ id: 'Source' })
export type Source = z.output<typeof Source>

/** How an org searches, and cuts what it crawls and uploads (interface.md, Org knowledge settings). */
export const KnowledgeSettings = z
  .object({
    chunk_chars: z.int().min(100).max(4000).describe('Characters of a passage'),
    chunk_overlap: z.int().min(0).describe('Repeated from the passage before; up to half of one'),
    mode: z.enum(['hybrid', 'text', 'vector']),
    top_k: z.int().min(1).max(50),
    window: z.int().min(0).max(5),
    max_distance: z.number().min(0.05).max(2).describe('Cosine distance'),
    rrf_k: z.int().min(1).max(200).describe('Constant of reciprocal rank fusion'),
  })
  .meta({ id: 'KnowledgeSettings' })
export type KnowledgeSettings = z.output<typeof KnowledgeSettings>
/** Those that an org set; the others are the deployment's. */
export type OwnSettings = Partial<KnowledgeSettings>

const SourceParams = z.object({ key: SourceKey })
export const SourceFilters = Paging.extend({ category: Category.optional() })
export const SourcePage = z.object({ sources: z.array(Source), next_cursor: nextCursor })

export const listSources = route({
  method: 'GET',
  url: '/api/knowledge/sources',
  summary: "The org's sources",
  owner: 'knowledge',
  caller: machine('knowledge:read'),
  module: 'knowledge',
  query: SourceFilters,
  reply: { 200: SourcePage },
})

export const getSource = route({
  method: 'GET',
  url: '/api/knowledge/sources/*key',
  summary: 'One source',
  owner: 'knowledge',
  caller: machine('knowledge:read'),
  module: 'knowledge',
  params: SourceParams,
  reply: { 200: z.object({ source: Source }) },
})

export const putSource = route({
  method: 'PUT',
  url: '/api/knowledge/sources/*key',
  summary: 'Write a whole source; 201 if its content is new, 200 if only its labels changed',
  owner: 'knowledge',
  caller: machine('knowledge:write'),
  module: 'knowledge',
  params: SourceParams,
  body: SourceBody,
  maxBytes: 64 * MEBIBYTE,
  reply: { 200: z.object({ source: Source }), 201: z.object({ source: Source }) },
})

export const deleteSource = route({
  method: 'DELETE',
  url: '/api/knowledge/sources/*key',
  summary: 'Delete a source with its versions and passages',
  owner: 'knowledge',
  caller: machine('knowledge:write'),
  module: 'knowledge',
  params: SourceParams,
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

export const SearchResult = z
  .object({
    chunk_id: z.uuid(),
    source_key: z.string(),
    title: z.string(),
    url: z.string(),
    category: z.string(),
    public: z.boolean(),
    content: z.string(),
    score: z.number(),
    fetched_at: Instant,
  })
  .meta({ id: 'SearchResult' })
export type SearchResult = z.output<typeof SearchResult>

export const SearchQuery = z
  .object({
    query: z.string().trim().min(1).max(1000),
    category: Category.optional(),
    top_k: KnowledgeSettings.shape.top_k.optional(),
    window: KnowledgeSettings.shape.window.optional(),
    embedding: Embedding.refine(hasDirection, NO_DIRECTION).optional(),
    embedding_model: z.string().min(1).max(200).optional(),
  })
  .refine(
    ({ embedding, embedding_model }) => !embedding === !embedding_model,
    'Send embedding and embedding_model together',
  )
export type SearchQuery = z.output<typeof SearchQuery>

export const Found = z.object({
  results: z.array(SearchResult),
  dense: z.boolean().describe('The vector search ran'),
})

export const search = route({
  method: 'POST',
  url: '/api/knowledge/search',
  summary: "Search the org's and all public sources by text and meaning",
  owner: 'knowledge',
  caller: machine('knowledge:read'),
  module: 'knowledge',
  rate: 'search',
  body: SearchQuery,
  reply: { 200: Found },
})

export const MOST_UPLOAD_FILES = 20
export const MOST_UPLOAD_FILE_BYTES = 10 * MEBIBYTE
export const MOST_UPLOAD_BYTES = 25 * MEBIBYTE

const UploadedDocument = z.object({
  file: z.string(),
  key: z.string().nullable(),
  changed: z.boolean(),
  chunks: z.int(),
  error: z.string().nullable(),
})
export type UploadedDocument = z.output<typeof UploadedDocument>

export const uploadDocuments = route({
  method: 'POST',
  url: '/api/dashboard/:org/knowledge/documents',
  summary: 'Upload documents; each becomes a source, and each fails alone',
  owner: 'knowledge',
  caller: officer,
  module: 'knowledge',
  params: OrgParams,
  form: { field: 'files', files: MOST_UPLOAD_FILES, maxFileBytes: MOST_UPLOAD_FILE_BYTES },
  maxBytes: MOST_UPLOAD_BYTES,
  body: z.object({
    files: FileParts,
    folder: z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/,
        'a folder is up to 100 of A-Z a-z 0-9 . _ : / -',
      )
      .default('upload'),
    category: Category.default('documents'),
    public: z.stringbool().default(false),
  }),
  reply: {
    200: z.object({
      files: z.array(UploadedDocument),
      indexed: z.int(),
      unchanged: z.int(),
      failed: z.int(),
    }),
  },
})

export const indexPending = job({
  name: 'knowledge.index_pending',
  summary: 'Finish versions whose indexing was interrupted',
  args: z.object({}),
  cron: '* * * * *',
  attempts: 1,
  concurrency: 1,
  audited: false,
})

export const rebuildSearchIndex = job({
  name: 'knowledge.rebuild_index',
  summary: 'Make the search index again beside the old one, then switch',
  args: z.object({}),
  attempts: 5,
  concurrency: 2, // the second joins the first
  audited: true,
})

export const findRebuild = call({
  service: 'knowledge',
  name: 'find_rebuild',
  summary: 'How far the rebuild of the search index is',
  callers: ['operator'],
  args: z.object({}),
  reply: z.object({
    rebuild: z
      .object({ sources: z.int(), left: z.int().describe('Not yet in the new index') })
      .nullable()
      .describe('null where none is under way'),
  }),
})

const KeyNamed = z.object({ key: z.string() })
export const sourceWritten = audited(
  'knowledge.source.written',
  KeyNamed.extend({ chunks: z.int(), changed: z.boolean() }),
)
export const sourceDeleted = audited('knowledge.source.deleted', KeyNamed)
export const documentsUploaded = audited(
  'knowledge.documents.uploaded',
  z.object({ indexed: z.int(), unchanged: z.int(), failed: z.int() }),
)
