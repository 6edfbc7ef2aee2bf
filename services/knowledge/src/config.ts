import { MOST_CHUNK_CHARS } from '@guildhall/contracts/knowledge'
import {
  commonSettings,
  type Env,
  listenSettings,
  Port,
  readSettings,
} from '@guildhall/service/config'
import { z } from 'zod'

const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

/** Every setting that knowledge reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  KNOWLEDGE_PORT: Port.default(4002).describe('Port of knowledge, for the gateway alone'),
  KNOWLEDGE_DATABASE_URL: z
    .string()
    .optional()
    .describe("knowledge's own role and schema; else made from DATABASE_URL"),
  KNOWLEDGE_INDEX_DIR: z
    .string()
    .default('.guildhall/index')
    .describe('Folder of the embedded search index; it can be made again from the database'),
  KNOWLEDGE_CHUNK_CHARS: z.coerce
    .number<string>()
    .int()
    .min(100)
    .max(Math.min(4000, MOST_CHUNK_CHARS))
    .default(300)
    .describe('Characters of a passage of an uploaded document'),
  KNOWLEDGE_MAX_DISTANCE: z.coerce
    .number<string>()
    .min(0.05)
    .max(2)
    .default(0.6)
    .describe('Vector results farther than this cosine distance are dropped'),
  KNOWLEDGE_PUBLISHERS: z
    .string()
    .default('')
    .transform(list)
    .describe('Prefixes of orgs that may write public sources'),
  EMBEDDINGS_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('OpenAI-compatible base URL; without it search goes by words alone'),
  EMBEDDINGS_MODEL: z.string().default('default').describe('Model name, kept on each version'),
  EMBEDDINGS_API_KEY: z.string().optional().describe('Bearer token of the embeddings service'),
  EMBEDDINGS_QUERY_PREFIX: z.string().default('').describe('Text put before queries'),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
