import { z } from 'zod'
import { call } from './call.ts'

/** Only knowledge talks to embedders; others ask it (decisions.md § 3). */

/** Most texts of one question. Their vectors are 350 kB; a message takes 1 MiB. */
export const MOST_EMBED_TEXTS = 64

export const embedTexts = call({
  service: 'knowledge',
  name: 'embed_texts',
  summary: "Vectors of texts by the org's embedder; null where it has none",
  callers: ['agents'],
  args: z.object({
    org_id: z.int(),
    as: z.enum(['query', 'passage']),
    texts: z.array(z.string().min(1).max(1000)).min(1).max(MOST_EMBED_TEXTS),
  }),
  reply: z.object({
    embedded: z
      .object({
        model: z.string(),
        vectors: z.array(z.base64()).describe('1 024 numbers of 32 bits each, little-endian'),
      })
      .nullable(),
  }),
  deadlineMs: 8_000,
})
