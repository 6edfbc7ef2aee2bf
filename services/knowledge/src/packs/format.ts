import { Category, SourceKey } from '@guildhall/contracts/knowledge'
import { CrawlDefinition } from '@guildhall/contracts/knowledge-crawls'
import { PackFeed } from '@guildhall/contracts/packs'
import { z } from 'zod'

/** What stands in a `pack.json` (docs/packs.md). A field that is not known is refused: it may be misspelled. */

/** interface.md, Limits: alert feeds. */
const MOST_FEED_KEY_CHARS = 40
const MOST_FEED_HOURS = 168

const Key = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[a-z][a-z0-9-]*$/, 'begins with a-z and has a-z, 0-9 and - only')
const Name = z
  .string()
  .max(40)
  .regex(/^[a-z][a-z0-9_]*$/, 'begins with a-z and has a-z, 0-9 and _ only')
const Title = z.string().trim().min(1).max(200)
const Text = z.string().trim().min(1).max(1000)
const Url = z.string().max(2000)

const Page = z.strictObject({
  key: SourceKey.max(200),
  url: Url,
  title: Title,
  category: Category,
  fetch_every_hours: CrawlDefinition.shape.fetch_every_hours,
  needs_js: z.boolean().default(false),
})

const Param = z.strictObject({
  name: Name,
  description: Text,
  required: z.boolean().default(false),
  choices: z.array(z.string().min(1).max(100)).min(1).max(200).nullable().default(null),
  many: z.boolean().default(false),
  example: z.string().min(1).max(200).nullable().default(null),
})
export type Param = z.output<typeof Param>

const Query = z.strictObject({
  key: Key(50),
  description: Text,
  params: z.array(Param).max(20).default([]),
  url: Url.optional(),
  answer: z
    .string()
    .regex(/^[A-Za-z_$][\w$]*$/, 'is the name of a function that queries.ts exports')
    .optional(),
  category: Category,
  index: z.boolean().default(true),
  needs_js: z.boolean().default(false),
  needs_search: z.boolean().default(false),
})

const Feed = z.strictObject({
  key: Key(MOST_FEED_KEY_CHARS),
  title: Title,
  description: Text,
  kind: PackFeed.shape.kind,
  config: PackFeed.shape.config,
  every_hours: z.int().min(1).max(MOST_FEED_HOURS).default(3),
})

export const PackFile = z.strictObject({
  name: Key(30).refine(
    (name) => !name.endsWith('-live'),
    'must not end in -live: what queries answer is kept under such names',
  ),
  title: Title,
  description: Text,
  lms_url: Url.optional(),
  /** Addresses that differ from school to school. */
  settings: z
    .record(
      Name,
      z.strictObject({ description: Text, default: z.url({ protocol: /^https?$/ }).optional() }),
    )
    .default({}),
  pages: z.array(Page).max(200).default([]),
  queries: z.array(Query).max(100).default([]),
  feeds: z.array(Feed).max(100).default([]),
})
export type PackFile = z.output<typeof PackFile>
