import { z } from 'zod'
import { machine } from './caller.ts'
import { Category, Source, SourceBody, SourceKey } from './knowledge.ts'
import { MEBIBYTE, route } from './route.ts'

/** A text that an agent writes as it is; the service cuts it as it cuts uploads (decisions.md § 4, knowledge.add_document). */

/** As much as a request may have, less its other fields. */
const MOST_DOCUMENT_CHARS = MEBIBYTE - 64 * 1024

/** What is embedded within the 55 s that a tool has, by an embedder that takes no more than 1 000 characters a second. */
export const MOST_TOOL_DOCUMENT_CHARS = 32 * 1024

/** As the tool takes it: a text is embedded before the answer. */
export const ToolDocumentText = z
  .string()
  .max(
    MOST_TOOL_DOCUMENT_CHARS,
    `has more than ${MOST_TOOL_DOCUMENT_CHARS} characters: write it as several documents, or send it to POST /api/knowledge/documents`,
  )
  .describe(`Plain text or Markdown, at most ${MOST_TOOL_DOCUMENT_CHARS} characters`)

export const NewDocument = z.strictObject({
  key: SourceKey.describe('Where it is kept; a source of the same key is replaced'),
  title: SourceBody.shape.title,
  text: z
    .string()
    .max(MOST_DOCUMENT_CHARS)
    .refine((text) => text.trim() !== '', 'holds no text')
    .describe('Plain text or Markdown'),
  category: Category.default('documents'),
  url: SourceBody.shape.url,
  public: SourceBody.shape.public,
})
export type NewDocument = z.output<typeof NewDocument>

const written = z.object({ source: Source })

export const addDocument = route({
  method: 'POST',
  url: '/api/knowledge/documents',
  summary: 'Write a text as a source, cut into passages here; 201 if its content is new',
  owner: 'knowledge',
  caller: machine('knowledge:write'),
  module: 'knowledge',
  body: NewDocument,
  reply: { 200: written, 201: written },
})
