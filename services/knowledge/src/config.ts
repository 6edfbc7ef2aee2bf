import { defaultPorts } from '@guildhall/contracts/names'
import { isNetwork } from '@guildhall/outbound/guarded'
import {
  commonSettings,
  type Env,
  listed,
  listenSettings,
  Port,
  PostgresUrl,
  readSettings,
  WebUrl,
} from '@guildhall/service/config'
import { z } from 'zod'

const Prefixes = z
  .string()
  .default('')
  .transform((list) => list.split(',').flatMap((one) => one.trim() || []))

const Networks = z
  .string()
  .default('')
  .transform(listed)
  .pipe(z.array(z.string().refine(isNetwork, 'needs networks as 192.0.2.0/24 or 2001:db8::/32')))

const PACK_SETTING = /^([a-z][a-z0-9-]*)\.([a-z][a-z0-9_]*)=(https?:\/\/[^\s{}#]+)$/

const PackSettings = z
  .string()
  .default('')
  .transform(listed)
  .pipe(z.array(z.string().regex(PACK_SETTING, 'needs <pack>.<setting>=<http or https URL>')))
  .transform((list) =>
    list.map((text) => {
      const [, pack = '', name = '', value = ''] = PACK_SETTING.exec(text) ?? []
      return { pack, name, value }
    }),
  )

const Chars = z.coerce.number<string>().int().min(100).max(200_000).optional()

const BOTH_SERVERS =
  'MEILI_URL and QDRANT_URL belong together: set both for the search in servers, or neither for the embedded one'

/** Every setting that knowledge reads. */
export const Settings = z
  .object({
    ...commonSettings,
    ...listenSettings,
    KNOWLEDGE_PORT: Port.default(defaultPorts.knowledge).describe(
      'Port of knowledge, for the gateway alone',
    ),
    KNOWLEDGE_DATABASE_URL: PostgresUrl.optional().describe(
      "knowledge's own role and schema; else made from DATABASE_URL",
    ),
    KNOWLEDGE_INDEX_DIR: z
      .string()
      .default('.guildhall/index')
      .describe(
        'Folder of the search index; deleted, it is rebuilt from the database at the start',
      ),
    KNOWLEDGE_CHUNK_CHARS: z.coerce
      .number<string>()
      .int()
      .min(100)
      .max(4000)
      .default(300)
      .describe('Characters of a passage of uploads, 100 to 4000'),
    KNOWLEDGE_MAX_DISTANCE: z.coerce
      .number<string>()
      .min(0.05)
      .max(2)
      .default(0.6)
      .describe('Vector results of a larger cosine distance are dropped, 0.05 to 2'),
    KNOWLEDGE_PUBLISHERS: Prefixes.describe(
      'Prefixes of orgs that may write public sources, separated by commas',
    ),
    KNOWLEDGE_CRAWL_BATCH: z.coerce
      .number<string>()
      .int()
      .min(1)
      .max(1000)
      .default(20)
      .describe(
        'Sources that one run of the crawl job crawls, 1 to 1000; it runs every 10 minutes',
      ),
    KNOWLEDGE_CRAWL_GAP_SECONDS: z.coerce
      .number<string>()
      .min(0)
      .max(600)
      .default(2)
      .describe('Pause after a request of a crawl before the next one to the same host, 0 to 600'),
    KNOWLEDGE_USER_AGENT: z
      .string()
      .regex(/^[\x21-\x7e][\x20-\x7e]{0,199}$/)
      .default('PlatformKnowledgeBot/1.0')
      .describe('What crawls call themselves; up to its first / it is looked up in robots.txt'),
    KNOWLEDGE_BLOCKED_NETWORKS: Networks.describe(
      "Networks, separated by commas, where officers' addresses (pages, embedders, renderers) must not lead although they are public: 192.0.2.0/24,2001:db8::/32",
    ),
    RENDERER_URL: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('Renders JavaScript pages; without it they are almost empty'),
    RENDERER_API_KEY: z.string().optional().describe('Bearer token of the renderer'),
    SEARCH_SERVICE_URL: WebUrl.optional().describe('Web search, for the pack query web'),
    SEARCH_SERVICE_ENGINES: z
      .string()
      .min(1)
      .default('google,brave,bing')
      .describe('Engines that the web search asks, separated by commas'),
    KNOWLEDGE_PACKS_DIR: z
      .string()
      .optional()
      .describe('Folder of packs of your own, beside those that ship: docs/packs.md'),
    PACK_SETTINGS: PackSettings.describe(
      'Addresses of packs, separated by commas: campus.library_url=https://library.example.edu/hours',
    ),
    PACK_QUERY_MAX_CHARS: Chars.describe(
      'Characters that a live query of a pack answers at most, 100 to 200000; 30000 where nothing is set',
    ),
    CAMPUS_QUERY_MAX_CHARS: Chars.describe('Earlier name of PACK_QUERY_MAX_CHARS'),
    EMBEDDINGS_URL: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('OpenAI-compatible base URL of the embedder; without it search goes by text alone'),
    EMBEDDINGS_MODEL: z
      .string()
      .min(1)
      .max(200)
      .default('default')
      .describe('Model asked of the embedder, kept on each version'),
    EMBEDDINGS_WEIGHT: z.coerce
      .number<string>()
      .min(0)
      .max(1)
      .default(1)
      .describe(
        'How much what EMBEDDINGS_MODEL finds counts beside the words: 1 as much, less for a weak model',
      ),
    EMBEDDINGS_API_KEY: z.string().optional().describe('Bearer token of the embedder'),
    EMBEDDINGS_QUERY_PREFIX: z
      .string()
      .default('')
      .describe('Text put before queries, not passages'),
    MEILI_URL: WebUrl.optional().describe(
      'Meilisearch, for searches by words; with QDRANT_URL it takes the place of the embedded index',
    ),
    MEILI_API_KEY: z.string().optional().describe('Key of Meilisearch for indexes and documents'),
    QDRANT_URL: WebUrl.optional().describe(
      'Qdrant, for searches by meaning: http://host:6333; with MEILI_URL only',
    ),
    QDRANT_API_KEY: z.string().optional().describe('Key of Qdrant that may write'),
  })
  .refine(({ MEILI_URL, QDRANT_URL }) => Boolean(MEILI_URL) === Boolean(QDRANT_URL), {
    path: ['MEILI_URL'],
    message: BOTH_SERVERS,
  })
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
